/** Says of CUDA that is older than its source that it is, and offers to build it again. */
import * as path from "node:path";
import * as vscode from "vscode";
import { sourceOf, textOf } from "../notebooks";
import { plain } from "../ui/plain";
import { SCHEME, type Stale, type View, type Views } from "./views";

/** Follows the edits of sources, and shows above the CUDA why it is stale. */
export class Staleness implements vscode.CodeLensProvider, vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<void>();
  readonly #registrations: vscode.Disposable;

  readonly onDidChangeCodeLenses = this.#changed.event;

  constructor(readonly views: Views) {
    this.#registrations = vscode.Disposable.from(
      this.#changed,
      vscode.languages.registerCodeLensProvider({ scheme: SCHEME }, this),
      vscode.workspace.onDidChangeTextDocument(({ document }) => this.#edited(sourceOf(document.uri))),
      vscode.workspace.onDidChangeNotebookDocument(({ notebook }) => this.#edited(notebook.uri)),
      views.onDidChange(() => this.#changed.fire()),
    );
  }

  /** At the top, and where the kernel begins: that is what is seen first. */
  provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
    const shown = this.views.partOf(document.uri);
    const stale = shown?.view.stale;
    if (shown === undefined || stale === undefined) {
      return [];
    }
    const lines = shown.part === "cuda" ? [...new Set([0, shown.view.cuda.preambleLine])] : [0];
    const title = `$(warning) stale: ${plain(stale.reason)}`;
    return lines
      .map((line) => new vscode.Range(line, 0, line, 0))
      .flatMap((range) => [
        // First, since a reason may be longer than the editor is wide.
        new vscode.CodeLens(range, {
          title: "$(refresh) Retry",
          tooltip: "Build the kernel again",
          command: "tirx-lens.retryBuild",
          arguments: [document.uri],
        }),
        new vscode.CodeLens(range, { title, tooltip: plain(stale.reason), command: "" }),
      ]);
  }

  dispose(): void {
    this.#registrations.dispose();
  }

  #edited(source: vscode.Uri): void {
    for (const view of this.views.openViewsOf(source)) {
      const stale = editedSince(view, textOf(source));
      // Why the last build failed says more than that there was an edit too.
      if (view.stale?.failed !== true && (stale === undefined) !== (view.stale === undefined)) {
        this.views.put({ ...view, stale });
      }
    }
  }
}

/** That a source now has another text than a view was built from; undefined where it has not. */
export function editedSince(view: Pick<View, "source" | "builtFrom">, text: string | undefined): Stale | undefined {
  return text === undefined || view.builtFrom === undefined || text === view.builtFrom
    ? undefined
    : { reason: `${path.posix.basename(view.source.path)} was edited since this was built.`, failed: false };
}
