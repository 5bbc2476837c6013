/** "Show Worksheet": the tables of a kernel in a panel beside it, kept as its text is. */
import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import { notebookAt, sourceOf, type Place } from "./notebooks";
import { worksheetRequest, type Failed, type Worksheet, type WorksheetParams } from "./protocol";
import type { Supervisor } from "./server/supervisor";
import { show } from "./ui/notify";
import { lineOfLink } from "./worksheetLinks";

const VIEW = "tirx-lens.worksheet";
/** How long typing has to pause before the tables follow. */
const PAUSE_MS = 500;

const STYLE = `
  body { padding: 0 1rem 2rem; color: var(--vscode-editor-foreground); font-size: var(--vscode-font-size); }
  table { border-collapse: collapse; width: max-content; margin: 0.5rem 0 1rem; }
  th, td { border: 1px solid var(--vscode-editorWidget-border, #8884); padding: 0.3rem 0.5rem; text-align: left; vertical-align: top; }
  td { max-width: 13rem; }
  th { background: var(--vscode-editorWidget-background); position: sticky; top: 0; }
  code { font-family: var(--vscode-editor-font-family); color: var(--vscode-textPreformat-foreground); background: none; }
  /* There its colour is one for a dark background of its own. */
  .vscode-high-contrast-light code { color: inherit; }
  a { color: var(--vscode-textLink-foreground); }
  .notice { padding: 0.3rem 0.5rem; border-left: 3px solid var(--vscode-editorWarning-foreground); }
`;

/** Sends the links that are clicked, or followed by the keyboard. */
const SCRIPT = `
  const vscode = acquireVsCodeApi();
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href]");
    if (link !== null) {
      event.preventDefault();
      event.stopImmediatePropagation();
      vscode.postMessage({ href: link.getAttribute("href") });
    }
  }, true);
`;

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
        void this.#follow(shown, message.href);
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
    const tables = await vscode.commands.executeCommand<string>("markdown.api.render", sheet.markdown);
    shown.panel.webview.html = page(tables, notice);
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

  async #follow(shown: Shown, href: string): Promise<void> {
    const place = lineOfLink(href);
    if (place === undefined) {
      return;
    }
    const uri = place.path === shown.sheet.path ? cellOf(shown.source, place.cell) : vscode.Uri.file(place.path);
    const at = new vscode.Position(place.line - 1, 0);
    await vscode.window.showTextDocument(uri, {
      viewColumn: columnOf(uri) ?? vscode.ViewColumn.One,
      selection: new vscode.Range(at, at),
    });
  }
}

/** The document of a cell of a notebook, counted from 1; a document that is no cell as it is. */
function cellOf(source: vscode.Uri, number: number | undefined): vscode.Uri {
  const cells = notebookAt(sourceOf(source))?.getCells();
  return (number === undefined ? undefined : cells?.[number - 1]?.document.uri) ?? source;
}

/** The column in which a file is open. */
function columnOf(uri: vscode.Uri): vscode.ViewColumn | undefined {
  return vscode.window.tabGroups.all
    .flatMap(({ tabs }) => tabs)
    .find(({ input }) => input instanceof vscode.TabInputText && input.uri.toString() === uri.toString())?.group
    .viewColumn;
}

function page(tables: string, notice: string | undefined): string {
  const nonce = randomBytes(16).toString("base64");
  const policy = `default-src 'none'; style-src 'nonce-${nonce}'; script-src 'nonce-${nonce}';`;
  const told = notice === undefined ? "" : `<p class="notice" role="status">${escaped(notice)}</p>`;
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<style nonce="${nonce}">${STYLE}</style>
</head>
<body>
${told}${tables}
<script nonce="${nonce}">${SCRIPT}</script>
</body>
</html>`;
}

function escaped(text: string): string {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;");
}
