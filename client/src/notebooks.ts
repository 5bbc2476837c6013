/** Notebooks: VS Code gives each cell a document of its own, and the notebook is what is built. */
import * as vscode from "vscode";

/** Where a command is asked for: a document, and what is selected in it. */
export type Place = Pick<vscode.TextEditor, "document" | "selection">;

/** The kinds of notebooks whose cells are Python. */
export const NOTEBOOK_TYPES = ["jupyter-notebook", "interactive"] as const;

/** The editor in front; of a notebook the cell that is chosen, though no cursor may be in it. */
export function activePlace(): Place | undefined {
  const { activeTextEditor, activeNotebookEditor } = vscode.window;
  if (activeTextEditor !== undefined || activeNotebookEditor === undefined) {
    return activeTextEditor;
  }
  const { notebook, selection } = activeNotebookEditor;
  const document = notebook.getCells()[selection.start]?.document;
  return document && { document, selection: new vscode.Selection(0, 0, 0, 0) };
}

/** What is built and saved as one: a document itself, or the notebook that it is a cell of. */
export function sourceOf(uri: vscode.Uri): vscode.Uri {
  const wanted = uri.toString();
  const isIts = (cell: vscode.NotebookCell): boolean => cell.document.uri.toString() === wanted;
  return vscode.workspace.notebookDocuments.find((each) => each.getCells().some(isIts))?.uri ?? uri;
}

/** The notebook of a URI; undefined for one that is none, or is not open. */
export function notebookAt(uri: vscode.Uri): vscode.NotebookDocument | undefined {
  return vscode.workspace.notebookDocuments.find((each) => each.uri.toString() === uri.toString());
}

/** The text of a source as it stands in the editor, cells and all; undefined where it is not open. */
export function textOf(uri: vscode.Uri): string | undefined {
  const notebook = notebookAt(uri);
  if (notebook !== undefined) {
    const code = notebook.getCells().filter(({ kind }) => kind === vscode.NotebookCellKind.Code);
    return code.map(({ document }) => document.getText()).join("\0");
  }
  return vscode.workspace.textDocuments.find((document) => document.uri.toString() === uri.toString())?.getText();
}
