/** Tells VS Code whether the file in front is about TIRx, for the button in its title bar. */
import * as vscode from "vscode";
import { importsTirx } from "./imports";

const KEY = "tirx-lens.importsTirx";

/** Keep the context key up to date until disposed. */
export function trackTirxFiles(): vscode.Disposable {
  let last: boolean | undefined;
  const update = (): void => {
    const document = vscode.window.activeTextEditor?.document;
    const now = document?.languageId === "python" && importsTirx(document.getText());
    if (now !== last) {
      last = now;
      void vscode.commands.executeCommand("setContext", KEY, now);
    }
  };
  update();
  return vscode.Disposable.from(
    vscode.window.onDidChangeActiveTextEditor(update),
    vscode.workspace.onDidSaveTextDocument(update),
    vscode.workspace.onDidOpenTextDocument(update),
  );
}
