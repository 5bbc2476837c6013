/** The read-only documents that show CUDA, and whether each is that of its source as saved. */
import * as path from "node:path";
import * as vscode from "vscode";
import type { Arguments, Cuda } from "../protocol";

export const SCHEME = "tirx-cuda";
const PREVIOUS = "previous";

/** One CUDA text, with what it takes to build it again. */
export interface View {
  readonly uri: vscode.Uri;
  readonly source: vscode.Uri;
  readonly builder: string;
  /** What the user typed; undefined where the source itself gives the arguments. */
  readonly given: Arguments | undefined;
  readonly cuda: Cuda;
  /** The text of the build before, where it was another one. */
  readonly previous: string | undefined;
  /** Why the text is older than its source, or undefined where it is not. */
  readonly stale: string | undefined;
}

/**
 * The document of a builder of a file, named after `title`, in a folder named after the file: VS
 * Code shows it in the tab where two have the same name.
 */
export function viewUri(source: vscode.Uri, builder: string, title: string): vscode.Uri {
  const folder = path.posix.basename(source.path, ".py");
  const name = title.replace(/[\\/]/g, "-");
  const query = new URLSearchParams({ source: source.toString(), builder }).toString();
  return vscode.Uri.from({ scheme: SCHEME, path: `/${folder}/${name}.cu`, query });
}

/** The document that holds the text a view had before its newest build. */
export function previousUri(uri: vscode.Uri): vscode.Uri {
  return uri.with({ fragment: PREVIOUS });
}

export class Views
  implements vscode.TextDocumentContentProvider, vscode.FileDecorationProvider, vscode.Disposable
{
  readonly #views = new Map<string, View>();
  readonly #changed = new vscode.EventEmitter<vscode.Uri>();
  readonly #decorated = new vscode.EventEmitter<vscode.Uri>();
  readonly #registrations: vscode.Disposable;

  readonly onDidChange = this.#changed.event;
  readonly onDidChangeFileDecorations = this.#decorated.event;

  constructor() {
    this.#registrations = vscode.Disposable.from(
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      vscode.window.registerFileDecorationProvider(this),
      vscode.workspace.onDidCloseTextDocument((document) => this.#views.delete(document.uri.toString())),
      this.#changed,
      this.#decorated,
    );
  }

  /** The view a document shows; undefined for other documents, and for texts of earlier builds. */
  of(uri: vscode.Uri): View | undefined {
    return this.#views.get(uri.toString());
  }

  /** The views that are open in a tab. */
  open(): readonly View[] {
    return [...this.#views.values()].filter((view) => columnOf(view.uri) !== undefined);
  }

  /** The views of a source that are open in a tab. */
  openViewsOf(source: vscode.Uri): readonly View[] {
    return this.open().filter((view) => view.source.toString() === source.toString());
  }

  /** Put a new text, or a new state, in place of the old one. */
  put(view: View): void {
    this.#views.set(view.uri.toString(), view);
    this.#changed.fire(view.uri);
    this.#changed.fire(previousUri(view.uri));
    this.#decorated.fire(view.uri);
  }

  /**
   * Show a view: where it is already, else beside the source, with the kernel itself at the top.
   * The cursor stays in the source.
   */
  async reveal(view: View): Promise<void> {
    const column = columnOf(view.uri);
    await open(view, column ?? vscode.ViewColumn.Beside, column === undefined);
  }

  /** Put a view in the place of one that has another name. */
  async replace(old: View, view: View): Promise<void> {
    const tab = tabOf(old.uri);
    this.put(view);
    await open(view, tab?.group.viewColumn ?? vscode.ViewColumn.Beside, true);
    if (tab !== undefined) {
      await vscode.window.tabGroups.close(tab, true);
    }
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    if (uri.fragment === PREVIOUS) {
      return this.#views.get(uri.with({ fragment: "" }).toString())?.previous ?? "";
    }
    const view = this.#views.get(uri.toString());
    // A tab that VS Code brought back from an earlier session; nothing is executed unasked.
    return view?.cuda.text ?? '// Run "TIRx Lens: Show Generated CUDA" in the kernel\'s file to see its CUDA here.\n';
  }

  provideFileDecoration(uri: vscode.Uri): vscode.FileDecoration | undefined {
    const stale = this.#views.get(uri.toString())?.stale;
    return stale === undefined
      ? undefined
      : new vscode.FileDecoration("!", `Older than its source: ${stale}`, new vscode.ThemeColor("list.warningForeground"));
  }

  dispose(): void {
    this.#registrations.dispose();
  }
}

async function open(view: View, viewColumn: vscode.ViewColumn, toKernel: boolean): Promise<void> {
  const document = await vscode.workspace.openTextDocument(view.uri);
  const options = { viewColumn, preview: false, preserveFocus: true };
  const editor = await vscode.window.showTextDocument(document, options);
  if (toKernel) {
    const start = new vscode.Position(view.cuda.preambleLine, 0);
    editor.selection = new vscode.Selection(start, start);
    await foldPreamble(editor, viewColumn);
    editor.revealRange(new vscode.Range(start, start), vscode.TextEditorRevealType.AtTop);
  }
}

/** Fold the helpers away. The command works on the editor with the focus, so it goes there and back. */
async function foldPreamble(editor: vscode.TextEditor, viewColumn: vscode.ViewColumn): Promise<void> {
  const before = vscode.window.activeTextEditor;
  if (editor.selection.active.line < 2 || before === undefined || before === editor) {
    return;
  }
  await vscode.window.showTextDocument(editor.document, { viewColumn, preview: false });
  await vscode.commands.executeCommand("editor.fold", { selectionLines: [0], levels: 1 });
  await vscode.window.showTextDocument(before.document, before.viewColumn);
}

function tabOf(uri: vscode.Uri): vscode.Tab | undefined {
  return vscode.window.tabGroups.all
    .flatMap((group) => group.tabs)
    .find(({ input }) => input instanceof vscode.TabInputText && input.uri.toString() === uri.toString());
}

function columnOf(uri: vscode.Uri): vscode.ViewColumn | undefined {
  return tabOf(uri)?.group.viewColumn;
}
