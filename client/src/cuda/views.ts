/** The read-only documents that show CUDA, and whether each is that of its source as saved. */
import * as path from "node:path";
import * as vscode from "vscode";
import type { Arguments, Cuda } from "../protocol";

export const SCHEME = "tirx-cuda";
const PREVIOUS = "previous";
const SASS = "sass-nvidia";

/** One CUDA text, with what it takes to build it again. */
export interface View {
  readonly uri: vscode.Uri;
  readonly source: vscode.Uri;
  /** The document that it was asked for in: the source, or a cell of it. */
  readonly asked: vscode.Uri;
  readonly builder: string;
  /** What the user typed; undefined where the source itself gives the arguments. */
  readonly given: Arguments | undefined;
  readonly cuda: Cuda;
  /** The text of the build before, where it was another one. */
  readonly previous: string | undefined;
  /** The source's text as it was built; undefined where no editor had it. */
  readonly builtFrom: string | undefined;
  /** Undefined where the text is that of its source as it stands. */
  readonly stale: Stale | undefined;
}

/** Why a text is older than its source, as a sentence, and whether that is a build that failed. */
export interface Stale {
  readonly reason: string;
  readonly failed: boolean;
}

/**
 * The document of a builder of a file, named after `title`, in a folder named after the file: VS
 * Code shows it in the tab where two have the same name.
 */
export function viewUri(source: vscode.Uri, builder: string, title: string): vscode.Uri {
  const folder = path.posix.basename(source.path).replace(/\.(py|ipynb)$/, "");
  const name = title.replace(/[\\/]/g, "-");
  const query = new URLSearchParams({ source: source.toString(), builder }).toString();
  return vscode.Uri.from({ scheme: SCHEME, path: `/${folder}/${name}.cu`, query });
}

/** What a document shows of a view. */
export type Part = "cuda" | "ptx" | "sass";

const ENDINGS: Readonly<Record<Part, string>> = { cuda: ".cu", ptx: ".ptx", sass: ".sass" };

/** The document of another part of a view. */
export function partUri(uri: vscode.Uri, part: Part): vscode.Uri {
  return uri.with({ path: uri.path.slice(0, uri.path.lastIndexOf(".")) + ENDINGS[part] });
}

function partOf(uri: vscode.Uri): Part {
  return uri.path.endsWith(ENDINGS.ptx) ? "ptx" : uri.path.endsWith(ENDINGS.sass) ? "sass" : "cuda";
}

/** The line of CUDA that each line of a part came from. */
export function cudaLine(view: View, part: Part, line: number): number | undefined {
  return part === "cuda" ? line : (view.cuda.machine?.[part].lines[line] ?? undefined);
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
      vscode.workspace.onDidCloseTextDocument(({ uri }) => this.#closed(uri)),
      this.#changed,
      this.#decorated,
    );
  }

  /** The view a document shows; undefined for other documents, and for texts of earlier builds. */
  of(uri: vscode.Uri): View | undefined {
    return this.#views.get(uri.toString());
  }

  /** The view that a document shows a part of, and which. */
  partOf(uri: vscode.Uri): { readonly view: View; readonly part: Part } | undefined {
    const view = this.of(partUri(uri, "cuda"));
    return view === undefined ? undefined : { view, part: partOf(uri) };
  }

  /** The views with a part that is open in a tab. */
  open(): readonly View[] {
    return [...this.#views.values()].filter((view) => parts(view.uri).some((uri) => columnOf(uri) !== undefined));
  }

  /** Whether the PTX or the SASS of a view is open in a tab. */
  showsMachineCode(view: View): boolean {
    return parts(view.uri).some((uri) => partOf(uri) !== "cuda" && columnOf(uri) !== undefined);
  }

  /** The views of a source that are open in a tab. */
  openViewsOf(source: vscode.Uri): readonly View[] {
    return this.open().filter((view) => view.source.toString() === source.toString());
  }

  /** Put a new text, or a new state, in place of the old one. */
  put(view: View): void {
    this.#views.set(view.uri.toString(), view);
    this.#changed.fire(previousUri(view.uri));
    for (const uri of parts(view.uri)) {
      this.#changed.fire(uri);
      this.#decorated.fire(uri);
    }
  }

  /**
   * Show a view: where it is already, else beside the source, with the kernel itself at the top.
   * The cursor stays in the source.
   */
  async reveal(view: View): Promise<void> {
    const column = columnOf(view.uri);
    await open(view, column ?? vscode.ViewColumn.Beside, column === undefined);
  }

  /** Show the PTX or the SASS of a view, in the column of its CUDA. */
  async revealPart(view: View, part: Part): Promise<void> {
    const uri = partUri(view.uri, part);
    const viewColumn = columnOf(uri) ?? columnOf(view.uri) ?? vscode.ViewColumn.Beside;
    const opened = await vscode.workspace.openTextDocument(uri);
    // By its ending a file of SASS would be taken for a style sheet.
    const document = part === "sass" ? await vscode.languages.setTextDocumentLanguage(opened, SASS) : opened;
    await vscode.window.showTextDocument(document, { viewColumn, preview: false, preserveFocus: true });
  }

  /** Put a view in the place of one that has another name. */
  async replace(old: View, view: View): Promise<void> {
    const tabs = parts(old.uri).map((uri) => ({ part: partOf(uri), tab: tabOf(uri) }));
    this.put(view);
    for (const { part, tab } of tabs) {
      if (tab !== undefined) {
        await (part === "cuda" ? open(view, tab.group.viewColumn, true) : this.revealPart(view, part));
        await vscode.window.tabGroups.close(tab, true);
      }
    }
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    if (uri.fragment === PREVIOUS) {
      return this.#views.get(uri.with({ fragment: "" }).toString())?.previous ?? "";
    }
    const shown = this.partOf(uri);
    const text = shown?.part === "cuda" ? shown.view.cuda.text : shown?.view.cuda.machine?.[shown.part].text;
    // A tab that VS Code brought back from an earlier session; nothing is executed unasked.
    return text ?? '// Run "TIRx Lens: Show Generated CUDA" in the kernel\'s file to see its CUDA here.\n';
  }

  provideFileDecoration(uri: vscode.Uri): vscode.FileDecoration | undefined {
    const stale = uri.scheme === SCHEME ? this.partOf(uri)?.view.stale : undefined;
    return stale === undefined
      ? undefined
      : new vscode.FileDecoration("!", `stale: ${stale.reason}`, new vscode.ThemeColor("list.warningForeground"));
  }

  dispose(): void {
    this.#registrations.dispose();
  }

  #closed(uri: vscode.Uri): void {
    const view = uri.scheme === SCHEME && uri.fragment === "" ? this.partOf(uri)?.view : undefined;
    if (view !== undefined && parts(view.uri).every((part) => columnOf(part) === undefined)) {
      this.#views.delete(view.uri.toString());
      this.#changed.fire(view.uri);
    }
  }
}

function parts(uri: vscode.Uri): readonly vscode.Uri[] {
  return (Object.keys(ENDINGS) as Part[]).map((part) => partUri(uri, part));
}

async function open(view: View, viewColumn: vscode.ViewColumn, toKernel: boolean): Promise<void> {
  const document = await vscode.workspace.openTextDocument(view.uri);
  const options = { viewColumn, preview: false, preserveFocus: true };
  const editor = await vscode.window.showTextDocument(document, options);
  if (toKernel) {
    const start = new vscode.Position(view.cuda.preambleLine, 0);
    editor.selection = new vscode.Selection(start, start);
    editor.revealRange(new vscode.Range(start, start), vscode.TextEditorRevealType.AtTop);
  }
}

function tabOf(uri: vscode.Uri): vscode.Tab | undefined {
  return vscode.window.tabGroups.all
    .flatMap((group) => group.tabs)
    .find(({ input }) => input instanceof vscode.TabInputText && input.uri.toString() === uri.toString());
}

function columnOf(uri: vscode.Uri): vscode.ViewColumn | undefined {
  return tabOf(uri)?.group.viewColumn;
}
