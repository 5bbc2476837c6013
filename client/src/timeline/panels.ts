/** "Show Timeline": how a kernel's handoffs run, in a panel beside its text. */
import { randomBytes } from "node:crypto";
import * as path from "node:path";
import * as vscode from "vscode";
import { sourceOf, type Place as SourcePlace } from "../notebooks";
import { timelineRequest, type KernelTimeline, type TimelineParams } from "../protocol";
import type { Supervisor } from "../server/supervisor";
import { show } from "../ui/notify";
import type { FromView, Place, ToView } from "./view/model";

/** Findings that a run shows: of what waits without end, and of storage that is used too early. */
const TOLD_BY_A_RUN = new Set([
  ...["TX104", "TX105", "TX106", "TX107", "TX108", "TX109", "TX110", "TX111", "TX112", "TX113"],
  ...["TX203", "TX302", "TX303", "TX305", "TX309"],
]);

const VIEW = "tirx-lens.timeline";
/** How long typing has to pause before the kernel is run again. */
const PAUSE_MS = 400;

interface Panel {
  readonly panel: vscode.WebviewPanel;
  readonly source: vscode.Uri;
  /** What is shown now; its kernel is the one that is asked for again. */
  shown: KernelTimeline;
  stale: string | null;
  /** The view's script runs, and takes messages. */
  isReady: boolean;
  timer?: NodeJS.Timeout;
  /** Counts the requests, so that a late answer to an older one is dropped. */
  asked: number;
}

export class TimelinePanels implements vscode.Disposable, vscode.CodeActionProvider {
  readonly #panels = new Map<string, Panel>();
  readonly #subscriptions: vscode.Disposable;

  constructor(
    readonly supervisor: Supervisor,
    readonly extension: vscode.Uri,
  ) {
    this.#subscriptions = vscode.Disposable.from(
      vscode.workspace.onDidChangeTextDocument(({ document }) => this.#changed(sourceOf(document.uri))),
      vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => this.#followCursor(textEditor)),
      vscode.languages.registerCodeActionsProvider({ language: "python" }, this, {
        providedCodeActionKinds: [vscode.CodeActionKind.QuickFix],
      }),
    );
  }

  /** Show the timeline of the kernel at the cursor. */
  async showBeside(editor: SourcePlace | undefined): Promise<void> {
    if (editor?.document.languageId !== "python") {
      await show("information", "Open a Python file with a TIRx kernel first, then ask for its timeline.");
      return;
    }
    const { line, character } = editor.selection.active;
    await this.show(editor.document.uri, { position: { line, character } });
  }

  /** Show the timeline of a kernel of a file: the one at a place, or the first of a builder. */
  async show(source: vscode.Uri, asks: Pick<TimelineParams, "position" | "builder">): Promise<void> {
    const reply = await this.supervisor.ask(timelineRequest, { textDocument: { uri: source.toString() }, ...asks });
    if (reply === undefined) {
      return;
    }
    if (reply.kind === "failed") {
      await show("information", reply.message);
      return;
    }
    const known = this.#panels.get(source.toString());
    if (known !== undefined) {
      known.asked += 1;
      known.panel.reveal(undefined, true);
      this.#put(known, reply, null);
      return;
    }
    this.#open(source, reply);
  }

  /** Run what is shown of a file anew. */
  async refresh(source: vscode.Uri): Promise<void> {
    await Promise.all(this.#of(source).map((panel) => this.#refresh(panel)));
  }

  /** Offer the timeline with a finding that it shows. */
  provideCodeActions(_: vscode.TextDocument, __: vscode.Range, context: vscode.CodeActionContext): vscode.CodeAction[] {
    const told = context.diagnostics.filter(({ code, source }) => {
      const value = typeof code === "object" ? code.value : code;
      return source === "tirx-lens" && TOLD_BY_A_RUN.has(String(value));
    });
    if (told.length === 0) {
      return [];
    }
    const action = new vscode.CodeAction("Show in timeline", vscode.CodeActionKind.QuickFix);
    action.diagnostics = told;
    action.command = { title: action.title, command: "tirx-lens.showTimeline" };
    return [action];
  }

  dispose(): void {
    this.#subscriptions.dispose();
    for (const { panel } of this.#panels.values()) {
      panel.dispose();
    }
  }

  #open(source: vscode.Uri, shown: KernelTimeline): void {
    const column = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
    const folder = vscode.Uri.joinPath(this.extension, "client", "dist");
    const panel = vscode.window.createWebviewPanel(VIEW, titleOf(source), column, {
      enableScripts: true,
      retainContextWhenHidden: true,
      localResourceRoots: [folder],
    });
    const opened: Panel = { panel, source, shown, stale: null, isReady: false, asked: 0 };
    this.#panels.set(source.toString(), opened);
    panel.onDidDispose(() => {
      clearTimeout(opened.timer);
      this.#panels.delete(source.toString());
    });
    panel.webview.onDidReceiveMessage((message: FromView) => void this.#told(opened, message));
    panel.webview.html = page(panel.webview, folder);
  }

  async #told(panel: Panel, message: FromView): Promise<void> {
    switch (message.type) {
      case "ready":
        panel.isReady = true;
        this.#put(panel, panel.shown, panel.stale);
        break;
      case "choose": {
        const kernel = panel.shown.kernels[message.kernel];
        if (kernel !== undefined) {
          await this.#refresh(panel, kernel);
        }
        break;
      }
      case "reveal":
        await this.#reveal(panel, message.place, message.takesFocus);
    }
  }

  async #reveal(panel: Panel, place: Place, takesFocus: boolean): Promise<void> {
    const uri = place.file === panel.shown.file ? panel.source : vscode.Uri.parse(place.file);
    const at = new vscode.Position(place.row - 1, place.column - 1);
    await vscode.window.showTextDocument(uri, {
      viewColumn: columnOf(uri) ?? vscode.ViewColumn.One,
      preserveFocus: !takesFocus,
      selection: new vscode.Range(at, at),
    });
  }

  /** Those of a file, or of cells of a notebook. */
  #of(source: vscode.Uri): readonly Panel[] {
    return [...this.#panels.values()].filter((each) => isSame(sourceOf(each.source), source));
  }

  #changed(source: vscode.Uri): void {
    for (const panel of this.#of(source)) {
      clearTimeout(panel.timer);
      panel.timer = setTimeout(() => void this.#refresh(panel), PAUSE_MS);
    }
  }

  /** Run the kernel that is shown again, or another one; what cannot be read leaves the last one. */
  async #refresh(panel: Panel, kernel = panel.shown.kernels[panel.shown.chosen]): Promise<void> {
    const number = ++panel.asked;
    const line = panel.shown.timeline?.places[0]?.row ?? 1;
    const reply = await this.supervisor.ask(timelineRequest, {
      textDocument: { uri: panel.source.toString() },
      position: { line: line - 1, character: 0 },
      ...(kernel === undefined ? {} : { kernel }),
    });
    if (number !== panel.asked || reply === undefined || !this.#panels.has(panel.source.toString())) {
      return;
    }
    if (reply.kind === "failed") {
      this.#put(panel, panel.shown, `Older than the text. ${reply.message}`);
    } else if (reply.timeline === null && reply.hasErrors && panel.shown.timeline !== null) {
      this.#put(panel, panel.shown, "Older than the text, which has a syntax error.");
    } else {
      this.#put(panel, reply, null);
    }
  }

  #put(panel: Panel, shown: KernelTimeline, stale: string | null): void {
    panel.shown = shown;
    panel.stale = stale;
    panel.panel.title = titleOf(panel.source);
    if (panel.isReady) {
      const { kernels, chosen, file, timeline, why } = shown;
      this.#post(panel, { type: "show", kernels, chosen, file, timeline, why, stale });
      const editor = vscode.window.visibleTextEditors.find(({ document }) => isSame(document.uri, panel.source));
      if (editor !== undefined) {
        this.#followCursor(editor);
      }
    }
  }

  /** Mark the events of the lines that are selected, in every timeline with places in the file. */
  #followCursor({ document, selection }: vscode.TextEditor): void {
    for (const panel of this.#panels.values()) {
      const uri = document.uri.toString();
      const isOwn = isSame(document.uri, panel.source);
      const isNamed = panel.shown.timeline?.places.some(({ file }) => file === uri) === true;
      if (panel.isReady && (isOwn || isNamed)) {
        const file = isOwn && !isNamed ? panel.shown.file : uri;
        this.#post(panel, { type: "cursor", file, first: selection.start.line + 1, last: selection.end.line + 1 });
      }
    }
  }

  #post({ panel }: Panel, message: ToView): void {
    void panel.webview.postMessage(message);
  }
}

function isSame(one: vscode.Uri, other: vscode.Uri): boolean {
  return one.toString() === other.toString();
}

function titleOf(source: vscode.Uri): string {
  return `Timeline ${path.posix.basename(source.path)}`;
}

/** The column in which a file is open. */
function columnOf(uri: vscode.Uri): vscode.ViewColumn | undefined {
  return vscode.window.tabGroups.all
    .flatMap(({ tabs }) => tabs)
    .find(({ input }) => input instanceof vscode.TabInputText && isSame(input.uri, uri))?.group.viewColumn;
}

/** The page of the view: it may load its own script and style and nothing else. */
function page(webview: vscode.Webview, folder: vscode.Uri): string {
  const nonce = randomBytes(16).toString("base64");
  const at = (name: string): string => webview.asWebviewUri(vscode.Uri.joinPath(folder, name)).toString();
  const policy = `default-src 'none'; style-src ${webview.cspSource}; script-src 'nonce-${nonce}';`;
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<link rel="stylesheet" href="${at("timeline.css")}">
</head>
<body>
<script nonce="${nonce}" src="${at("timeline.js")}"></script>
</body>
</html>`;
}
