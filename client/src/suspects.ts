/** "Find Suspects from a Symptom": what of a kernel may cause it, in a panel beside the kernel. */
import * as vscode from "vscode";
import { sourceOf, type Place } from "./notebooks";
import { suspectsRequest, type Failed, type Suspects, type SuspectsParams, type Symptom } from "./protocol";
import type { Supervisor } from "./server/supervisor";
import { askBuild, askSymptom } from "./symptoms";
import { followLink, pageOf } from "./ui/markdownPage";
import { show } from "./ui/notify";

const VIEW = "tirx-lens.suspects";
const TITLE = "Find Suspects from a Symptom";
/** How long typing has to pause before the page follows. */
const PAUSE_MS = 500;

interface Shown {
  readonly panel: vscode.WebviewPanel;
  readonly source: vscode.Uri;
  asked: SuspectsParams;
  /** What the panel shows now, for its links. */
  guide: Suspects;
  timer?: NodeJS.Timeout;
  /** Counts the requests, so that a late answer to an older one is dropped. */
  requests: number;
}

export class SuspectPanels implements vscode.Disposable {
  readonly #shown = new Map<string, Shown>();
  readonly #changes: vscode.Disposable;

  constructor(readonly supervisor: Supervisor) {
    this.#changes = vscode.workspace.onDidChangeTextDocument(({ document }) => {
      this.#changed(sourceOf(document.uri));
    });
  }

  /** Ask for the symptom, and show the suspects of the kernel at the cursor. */
  async showBeside(editor: Place | undefined): Promise<void> {
    if (editor?.document.languageId !== "python") {
      await show("information", "Open a Python file with a TIRx kernel first, then ask for its suspects.");
      return;
    }
    const source = editor.document.uri;
    const { line, character } = editor.selection.active;
    const symptom = await askSymptom(TITLE);
    const build = symptom === "slow" ? await askBuild(TITLE, "registers, spills and occupancy") : false;
    if (symptom === undefined || build === undefined) {
      return;
    }
    const asked = { textDocument: { uri: source.toString() }, position: { line, character }, symptom, build };
    const reply = await this.#ask(asked);
    if (reply === undefined) {
      return;
    }
    if (reply.kind === "failed") {
      await show("information", reply.message);
      return;
    }
    await this.#show(source, symptom, asked, reply);
  }

  dispose(): void {
    this.#changes.dispose();
    this.#shown.forEach(({ panel }) => {
      panel.dispose();
    });
  }

  async #show(source: vscode.Uri, symptom: Symptom, asked: SuspectsParams, guide: Suspects): Promise<void> {
    const key = `${source.toString()} ${symptom}`;
    const known = this.#shown.get(key);
    if (known !== undefined) {
      known.asked = asked;
      known.panel.reveal(undefined, true);
      await this.#put(known, guide);
      return;
    }
    const column = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
    const panel = vscode.window.createWebviewPanel(VIEW, guide.title, column, {
      enableScripts: true,
      enableFindWidget: true,
      localResourceRoots: [],
    });
    const shown: Shown = { panel, source, asked, guide, requests: 0 };
    this.#shown.set(key, shown);
    panel.onDidDispose(() => {
      clearTimeout(shown.timer);
      this.#shown.delete(key);
    });
    panel.webview.onDidReceiveMessage((message: { readonly href?: unknown }) => {
      if (typeof message.href === "string") {
        void followLink(message.href, shown.guide.path, source);
      }
    });
    await this.#put(shown, guide);
  }

  #changed(source: vscode.Uri): void {
    for (const shown of this.#shown.values()) {
      if (sourceOf(shown.source).toString() === source.toString()) {
        clearTimeout(shown.timer);
        shown.timer = setTimeout(() => void this.#refresh(shown), PAUSE_MS);
      }
    }
  }

  /** Follow the text. Nobody asked for another build: what an older one said is gone, and told. */
  async #refresh(shown: Shown): Promise<void> {
    const number = ++shown.requests;
    const wasBuilt = shown.asked.build === true;
    const reply = await this.#ask({ ...shown.asked, build: false });
    if (number !== shown.requests || reply === undefined || ![...this.#shown.values()].includes(shown)) {
      return;
    }
    if (reply.kind === "suspects") {
      await this.#put(shown, reply, wasBuilt ? "The text has changed since the build: ask again to build it." : undefined);
    } else {
      await this.#put(shown, shown.guide, `Older than the text: ${reply.message}`);
    }
  }

  async #put(shown: Shown, guide: Suspects, notice?: string): Promise<void> {
    shown.guide = guide;
    shown.panel.title = guide.title;
    shown.panel.webview.html = await pageOf(guide.markdown, notice);
  }

  /** Ask the server; undefined where the user cancelled a build. */
  async #ask(asked: SuspectsParams): Promise<Suspects | Failed | undefined> {
    const session = await this.supervisor.session();
    if (session === undefined) {
      return { kind: "failed", message: "The TIRx Lens server is not running.", detail: "" };
    }
    const send = async (token?: vscode.CancellationToken): Promise<Suspects | Failed | undefined> => {
      try {
        return await session.client.sendRequest(suspectsRequest, asked, token);
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        return token?.isCancellationRequested === true
          ? undefined
          : { kind: "failed", message: `The server could not answer: ${message}`, detail: "" };
      }
    };
    if (asked.build !== true) {
      return send();
    }
    const options = { location: vscode.ProgressLocation.Notification, title: "Building the kernel", cancellable: true };
    return vscode.window.withProgress(options, (_, token) => send(token));
  }
}
