/** "Report a Problem with This Kernel": a draft in an editor, which its author edits and saves. */
import * as vscode from "vscode";
import { typeArguments } from "./cuda/ask";
import type { Place } from "./notebooks";
import {
  problemRequest,
  type Arguments,
  type ChooseArguments,
  type NeedArguments,
  type ProblemParams,
  type ProblemResult,
} from "./protocol";
import type { Supervisor } from "./server/supervisor";
import { askBuild, askSymptom } from "./symptoms";
import { show } from "./ui/notify";

const TITLE = "Report a Problem with This Kernel";
const OTHERS = "Others…";

/** Ask what the report needs, and open it untitled: nothing is written, and nothing is sent. */
export async function reportProblem(supervisor: Supervisor, editor: Place | undefined): Promise<void> {
  if (editor?.document.languageId !== "python") {
    await show("information", "Open the Python file of the kernel first, then report a problem with it.");
    return;
  }
  const { line, character } = editor.selection.active;
  const symptom = await askSymptom(TITLE);
  const keepNames = symptom === undefined ? undefined : await askNames();
  const build = keepNames === undefined ? undefined : await askBuild(TITLE, "its CUDA, versions and the GPU");
  if (symptom === undefined || keepNames === undefined || build === undefined) {
    return;
  }
  let asked: ProblemParams = {
    textDocument: { uri: editor.document.uri.toString() },
    position: { line, character },
    symptom,
    keepNames,
    build,
    editor: `${vscode.env.appName} ${vscode.version}`,
  };
  for (;;) {
    const reply = await ask(supervisor, asked);
    if (reply === undefined) {
      return;
    }
    switch (reply.kind) {
      case "failed":
        await show("information", reply.message);
        return;
      case "problem": {
        await openDraft(reply.markdown);
        return;
      }
      default: {
        const more = await answer(reply);
        if (more === undefined) {
          return;
        }
        asked = { ...asked, ...more };
      }
    }
  }
}

/** Open a text untitled, beside the kernel. Filled once it is shown: VS Code opens what is changed by itself. */
async function openDraft(text: string): Promise<void> {
  const document = await vscode.workspace.openTextDocument({ language: "markdown" });
  const beside = { viewColumn: vscode.ViewColumn.Beside, preview: false };
  const editor = await vscode.window.showTextDocument(document, beside);
  await editor.edit((edit) => {
    edit.insert(new vscode.Position(0, 0), text);
  });
  const start = new vscode.Position(0, 0);
  editor.selection = new vscode.Selection(start, start);
  editor.revealRange(new vscode.Range(start, start));
}

/** Ask what is missing; undefined where the user turned away. */
async function answer(
  reply: Exclude<ProblemResult, { readonly kind: "problem" | "failed" }>,
): Promise<Partial<ProblemParams> | undefined> {
  switch (reply.kind) {
    case "choose": {
      const builder = await vscode.window.showQuickPick([...reply.builders], {
        title: TITLE,
        placeHolder: "Which kernel builder?",
      });
      return builder === undefined ? undefined : { builder };
    }
    case "chooseArguments":
      return askSet(reply);
    case "needArguments": {
      const values = await askValues(reply);
      return values === undefined ? undefined : { builder: reply.builder, arguments: values };
    }
  }
}

async function askNames(): Promise<boolean | undefined> {
  const picked = await vscode.window.showQuickPick(
    [
      {
        label: "Leave out paths and names",
        detail: "Host names, user names, paths and values of the environment; the report says what was left out.",
        keep: false,
      },
      { label: "Keep paths and names", detail: "For somebody who works on the same machines.", keep: true },
    ],
    { title: TITLE, placeHolder: "You can read and edit all of it before you save it." },
  );
  return picked?.keep;
}

/** Ask which of the known sets of arguments shows it; the server names the smallest first. */
async function askSet({ builder, sets }: ChooseArguments): Promise<Partial<ProblemParams> | undefined> {
  const spelled = (values: Arguments): string =>
    Object.entries(values)
      .map(([name, value]) => `${name}=${value}`)
      .join(" ");
  const items: readonly (vscode.QuickPickItem & { readonly set?: string })[] = [
    ...sets.map((set, index) => ({
      label: spelled(set.arguments),
      description: index === 0 ? `${set.label}, the smallest` : set.label,
      set: set.label,
    })),
    { label: OTHERS, detail: "Smaller ones are easier to look into." },
  ];
  const picked = await vscode.window.showQuickPick(items, {
    title: TITLE,
    placeHolder: "Which are the smallest arguments that show it?",
  });
  if (picked === undefined) {
    return undefined;
  }
  if (picked.set !== undefined) {
    return { builder, argumentSet: picked.set };
  }
  const names = Object.keys(sets[0]?.arguments ?? {});
  const values = await askValues({
    kind: "needArguments",
    builder,
    parameters: names.map((name) => ({ name, default: sets[0]?.arguments[name] ?? "" })),
  });
  return values === undefined ? undefined : { builder, arguments: values };
}

async function askValues({ builder, parameters }: NeedArguments): Promise<Arguments | undefined> {
  const prompt = `The smallest arguments of ${builder} that show it`;
  return typeArguments(builder, parameters, {}, { title: TITLE, prompt });
}

/** Ask the server; undefined where the user cancelled. */
async function ask(supervisor: Supervisor, asked: ProblemParams): Promise<ProblemResult | undefined> {
  const options = { location: vscode.ProgressLocation.Notification, title: "Writing the report", cancellable: true };
  return vscode.window.withProgress(options, (_, token) => supervisor.ask(problemRequest, asked, token));
}
