/** Choosing where kernels are built, and confirming the targets that a project brings. */
import * as vscode from "vscode";
import {
  chooseTargetRequest,
  doctorRequest,
  targetsRequest,
  type ConfirmTarget,
  type TargetEntry,
  type TargetList,
} from "../protocol";
import type { Session } from "../server/session";
import type { Supervisor } from "../server/supervisor";
import { command, show } from "../ui/notify";
import { plain } from "../ui/plain";
import type { TargetMemory } from "./memory";

const UNTRUSTED = "This workspace is not trusted, so nothing is built, here or on another machine.";
const USE = "Use These Targets";
const QUESTION = "Use the targets that this project's pyproject.toml brings?";
const MEANING =
  "When you build a kernel at one of them, TIRx Lens starts these programs and connects to these hosts. " +
  "You are asked again when anything of this changes.";
/** A longer text does not fit into a dialog of VS Code, which may not scroll. */
const MOST_LINES = 40;
const MOST_CHARACTERS = 3_000;

export class TargetPicker {
  constructor(
    readonly supervisor: Supervisor,
    readonly memory: TargetMemory,
  ) {}

  /** Ask where to build; true where that has changed. */
  async choose(source: vscode.Uri | undefined): Promise<boolean> {
    const session = await this.#session();
    const listed = await session?.client.sendRequest(targetsRequest, of(source));
    if (session === undefined || listed === undefined) {
      return false;
    }
    if (listed.kind === "failed") {
      await show("error", listed.message);
      return false;
    }
    const picked = await vscode.window.showQuickPick(items(listed), {
      title: "Target",
      placeHolder: "Where are the kernels of this workspace built?",
      matchOnDescription: true,
    });
    if (picked === undefined) {
      return false;
    }
    const reply = await session.client.sendRequest(chooseTargetRequest, { ...of(source), name: picked.name });
    switch (reply.kind) {
      case "targets":
        await this.memory.choose(picked.name);
        return picked.name !== listed.chosen;
      case "confirmTarget":
        return this.confirm(reply, source);
      case "failed":
        await show("error", reply.message);
        return false;
    }
  }

  /** Show a project's targets in full and ask whether to use them; true where one is used now. */
  async confirm(asked: ConfirmTarget, source: vscode.Uri | undefined): Promise<boolean> {
    const session = await this.#session();
    if (session === undefined || !(await agreed(asked))) {
      return false;
    }
    const params = { ...of(source), name: asked.name, confirmed: asked.fingerprint };
    const reply = await session.client.sendRequest(chooseTargetRequest, params);
    switch (reply.kind) {
      case "targets":
        await this.memory.confirm(asked.fingerprint);
        await this.memory.choose(asked.name);
        return true;
      case "confirmTarget": // it was changed while the user read it
        return this.confirm(reply, source);
      case "failed":
        await show("error", reply.message);
        return false;
    }
  }

  /** Have the server look at all targets, and show what it found. */
  async check(source: vscode.Uri | undefined): Promise<void> {
    const session = await this.#session();
    if (session === undefined) {
      return;
    }
    const options = { location: vscode.ProgressLocation.Notification, title: "Checking targets", cancellable: true };
    const reply = await vscode.window.withProgress(options, async (_, token) => {
      try {
        return await session.client.sendRequest(doctorRequest, of(source), token);
      } catch (error) {
        if (token.isCancellationRequested) {
          return undefined;
        }
        throw error;
      }
    });
    if (reply?.kind === "failed") {
      await show("error", reply.message);
    } else if (reply?.document !== undefined) {
      await vscode.window.showTextDocument(vscode.Uri.parse(reply.document, true), { preview: false });
    }
  }

  async #session(): Promise<Session | undefined> {
    if (!vscode.workspace.isTrusted) {
      await show("warning", UNTRUSTED, command("Manage Workspace Trust", "workbench.trust.manage"));
      return undefined;
    }
    const session = await this.supervisor.session();
    if (session === undefined) {
      await show("error", "The TIRx Lens server is not running.", command("Restart Server", "tirx-lens.restart"));
    }
    return session;
  }
}

function of(source: vscode.Uri | undefined): { textDocument?: { uri: string } } {
  return source === undefined ? {} : { textDocument: { uri: source.toString() } };
}

function items({ chosen, targets }: TargetList): (vscode.QuickPickItem & { name: string })[] {
  return targets.map((target) => ({
    name: target.name,
    label: `${target.name === chosen ? "$(check) " : ""}${target.name}`,
    description: plain(target.summary),
    detail: detailOf(target),
  }));
}

function detailOf(target: TargetEntry): string {
  switch (target.origin) {
    case "built-in":
      return "The interpreter that is chosen on this machine";
    case "settings":
      return "From your settings";
    case "project":
      return target.usable
        ? "From this project's pyproject.toml, confirmed"
        : "$(shield) From this project's pyproject.toml, not confirmed: you will be shown what it runs";
  }
}

/** Ask with the whole text in view: in the dialog, or in an editor where it is too long for one. */
async function agreed({ text, document }: ConfirmTarget): Promise<boolean> {
  if (text.split("\n").length <= MOST_LINES && text.length <= MOST_CHARACTERS) {
    const options = { modal: true, detail: `${MEANING}\n\n${text}` };
    return (await vscode.window.showWarningMessage(QUESTION, options, USE)) === USE;
  }
  if (document === undefined) {
    return false;
  }
  await vscode.window.showTextDocument(vscode.Uri.parse(document, true), { preview: false });
  const question = `${QUESTION} They are shown in full in the editor. ${MEANING}`;
  return (await vscode.window.showWarningMessage(question, USE)) === USE;
}
