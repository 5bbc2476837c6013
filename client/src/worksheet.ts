/** "Show Worksheet": the tables of a kernel in a panel beside it, kept as its text is. */
import * as vscode from "vscode";
import { sourceOf, type Place } from "./notebooks";
import { worksheetRequest, type Failed, type Worksheet, type WorksheetParams } from "./protocol";
import type { Supervisor } from "./server/supervisor";
import { followLink, pageOf } from "./ui/markdownPage";
import { show } from "./ui/notify";

const VIEW = "tirx-lens.worksheet";
/** How long typing has to pause before the tables follow. */
const PAUSE_MS = 500;

/** Which kernels are shown: those around a place, or of a builder. */
type Asked = Pick<WorksheetParams, "position" | "builder">;

interface Shown {
  readonly panel: vscode.WebviewPanel;
  readonly source: vscode.Uri;
  asks: Asked;
  /** What the panel shows now, for its links. */
  sheet: Worksheet;
  timer?: NodeJS.Timeout;
  /** Counts the requests, so that a late answer to an older one is dropped. */
  asked: number;
}

export class WorksheetPanels implements vscode.Disposable {
  readonly #shown = new Map<string, Shown>();
  readonly #changes: vscode.Disposable;

  constructor(readonly supervisor: Supervisor) {
    this.#changes = vscode.workspace.onDidChangeTextDocument(({ document }) => this.#changed(sourceOf(document.uri)));
  }

  /** Show the worksheet of the kernel at the cursor, or of all kernels of the file. */
  async showBeside(editor: Place | undefined): Promise<void> {
    if (editor?.document.languageId !== "python") {
      await show("information", "Open a Python file with a TIRx kernel first, then ask for its worksheet.");
      return;
    }
    const { line, character } = editor.selection.active;
    await this.show(editor.document.uri, { position: { line, character } });
  }

  /** Show the worksheet of some kernels of a file beside it. */
  async show(source: vscode.Uri, asks: Asked): Promise<void> {
    const reply = await this.#ask(source, asks);
    if (reply.kind === "failed") {
      await show("information", reply.message);
      return;
    }
    const known = this.#shown.get(source.toString());
    if (known !== undefined) {
      known.asks = asks;
      known.panel.reveal(undefined, true);
      await this.#put(known, reply);
      return;
    }
    const column = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
    const panel = vscode.window.createWebviewPanel(VIEW, reply.title, column, {
      enableScripts: true,
      enableFindWidget: true,
      localResourceRoots: [],
    });
    const shown: Shown = { panel, source, asks, sheet: reply, asked: 0 };
    this.#shown.set(source.toString(), shown);
    panel.onDidDispose(() => {
      clearTimeout(shown.timer);
      this.#shown.delete(source.toString());
    });
    panel.webview.onDidReceiveMessage((message: { readonly href?: unknown }) => {
      if (typeof message.href === "string") {
        void followLink(message.href, shown.sheet.path, shown.source);
      }
    });
    await this.#put(shown, reply);
  }

  dispose(): void {
    this.#changes.dispose();
    this.#shown.forEach(({ panel }) => {
      panel.dispose();
    });
  }

  /** Fill in what is shown of a file anew. */
  async refresh(source: vscode.Uri): Promise<void> {
    await Promise.all(this.#of(source).map((shown) => this.#refresh(shown)));
  }

  /** Those of a file, or of cells of a notebook. */
  #of(source: vscode.Uri): readonly Shown[] {
    return [...this.#shown.values()].filter((each) => sourceOf(each.source).toString() === source.toString());
  }

  #changed(source: vscode.Uri): void {
    for (const shown of this.#of(source)) {
      clearTimeout(shown.timer);
      shown.timer = setTimeout(() => void this.#refresh(shown), PAUSE_MS);
    }
  }

  async #refresh(shown: Shown): Promise<void> {
    const number = ++shown.asked;
    const reply = await this.#ask(shown.source, shown.asks);
    if (number !== shown.asked || !this.#shown.has(shown.source.toString())) {
      return;
    }
    if (reply.kind === "worksheet") {
      await this.#put(shown, reply);
    } else {
      await this.#put(shown, shown.sheet, `Older than the text: ${reply.message}`);
    }
  }

  async #put(shown: Shown, sheet: Worksheet, notice?: string): Promise<void> {
    shown.sheet = sheet;
    shown.panel.title = sheet.title;
    shown.panel.webview.html = await pageOf(sheet.markdown, notice);
  }

  async #ask(source: vscode.Uri, asks: Asked): Promise<Worksheet | Failed> {
    const session = await this.supervisor.session();
    if (session === undefined) {
      return { kind: "failed", message: "The TIRx Lens server is not running.", detail: "" };
    }
    try {
      return await session.client.sendRequest(worksheetRequest, { textDocument: { uri: source.toString() }, ...asks });
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return { kind: "failed", message: `The server could not answer: ${message}`, detail: "" };
    }
  }
}
