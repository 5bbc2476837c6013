/** Choosing the arguments of a builder: others of those that are given, typed ones, or the file's own. */
import * as vscode from "vscode";
import { ExecuteCommandRequest, type Position } from "vscode-languageclient/node";
import { sourceOf } from "../notebooks";
import { argumentsRequest, type ArgumentsInUse, type Arguments } from "../protocol";
import type { Supervisor } from "../server/supervisor";
import { show } from "../ui/notify";
import { differing, written } from "./arguments";
import { askBuilder, typeArguments } from "./ask";
import { choose, type Chosen } from "./choices";

const USE = "tirx-lens.server.useArguments";

interface Item extends vscode.QuickPickItem {
  /** What is chosen with it; null asks for values to be typed. */
  readonly chosen: Chosen | null;
}

/** The builder of that name in a document, or the one at the place. */
interface Meant {
  readonly source: vscode.Uri;
  readonly builder?: string;
  readonly position?: Position;
}

/** Ask for the arguments of the builder that is meant and have them used; whether they now are. */
export async function chooseArguments(
  supervisor: Supervisor,
  memory: vscode.Memento,
  { source, ...place }: Meant,
): Promise<boolean> {
  const session = await supervisor.session();
  if (session === undefined) {
    await show("information", "The TIRx Lens server is not running.");
    return false;
  }
  const uri = source.toString();
  const reply = await session.client.sendRequest(argumentsRequest, { textDocument: { uri }, ...place });
  if (reply.kind === "failed") {
    await show("information", reply.message);
    return false;
  }
  if (reply.kind === "choose") {
    const builder = await askBuilder(reply.builders, "Choose Arguments");
    return builder === undefined ? false : chooseArguments(supervisor, memory, { source, builder });
  }
  const chosen = await ask(reply);
  if (chosen === undefined) {
    return false;
  }
  const own = sourceOf(source).toString();
  await choose(memory, own, reply.builder, chosen);
  const choice = { textDocument: { uri: own }, builder: reply.builder, ...chosen };
  await session.client.sendRequest(ExecuteCommandRequest.type, { command: USE, arguments: [choice] });
  return true;
}

/** Ask what is to be used; undefined where the user turned away. */
async function ask(now: ArgumentsInUse): Promise<Chosen | undefined> {
  const items = [...configurations(now), ...given(now)];
  const takesValues = now.configs.length === 0 && now.parameters.length > 0;
  if (items.length === 0 && !takesValues) {
    await show("information", `${now.builder} takes no arguments.`);
    return undefined;
  }
  const typed: Item = { label: "$(edit) Type other values…", chosen: null };
  const item =
    items.length === 0
      ? typed
      : await vscode.window.showQuickPick([...items, ...(takesValues ? [typed] : [])], {
          title: `Arguments of ${now.builder}`,
          placeHolder: "For CUDA, worksheet, timeline and findings of this builder",
        });
  return item?.chosen === null ? type(now) : item?.chosen;
}

function configurations({ configs, config }: ArgumentsInUse): readonly Item[] {
  return configs.map((label, index) => ({
    label,
    description: label === config ? "(in use)" : index === 0 && config === null ? "(first)" : "",
    chosen: { config: label },
  }));
}

/** What comments and the project give, the file's own first; that there is none, where that is a choice. */
function given(now: ArgumentsInUse): readonly Item[] {
  if (now.configs.length > 0) {
    return now.config === null ? [] : [{ label: "$(discard) No choice: the first configuration", chosen: {} }];
  }
  const inUse = (label: string): boolean =>
    now.argumentSet === label && written(now.values) === written(setOf(now, label));
  const sets = now.sets.map(({ label, arguments: values }, index) => ({
    label: written(values),
    description: `${index === 0 ? `${label}, the file's own` : label}${inUse(label) ? " (in use)" : ""}`,
    chosen: index === 0 ? {} : { argumentSet: label },
  }));
  const none: Item = { label: "$(discard) None, as the file has them", chosen: {} };
  return sets.length === 0 && now.isChosen ? [none] : sets;
}

function setOf(now: ArgumentsInUse, label: string): Arguments {
  return now.sets.find((set) => set.label === label)?.arguments ?? {};
}

/** Let values be typed; only those that the file and its project do not give anyway are chosen. */
async function type(now: ArgumentsInUse): Promise<Chosen | undefined> {
  const values = await typeArguments(now.builder, now.parameters, now.values);
  return values === undefined ? undefined : { arguments: differing(values, now.own, now.parameters) };
}
