/** The commands that code lenses lead to, and what they are given. */
import * as vscode from "vscode";
import type { Position } from "vscode-languageclient/node";

/** Those that the server may offer; it makes no lens for any other. */
export const LENS_COMMANDS = [
  "tirx-lens.showGeneratedCuda",
  "tirx-lens.showWorksheet",
  "tirx-lens.showTimeline",
  "tirx-lens.chooseArguments",
  "tirx-lens.goToFinding",
] as const;

/** A builder of a document, as a lens names it. */
export interface BuilderOf {
  readonly source: vscode.Uri;
  readonly builder: string;
}

/**
 * What a lens gives its command; undefined where the command comes from elsewhere: the palette
 * gives nothing, a button of an editor an object for its document.
 */
export function builderOf(given: readonly unknown[]): BuilderOf | undefined {
  const [uri, builder] = given;
  return typeof uri === "string" && typeof builder === "string"
    ? { source: vscode.Uri.parse(uri), builder }
    : undefined;
}

/** Go to a finding and show what it says, there in the text. */
export async function goToFinding(uri: string, { line, character }: Position): Promise<void> {
  const at = new vscode.Position(line, character);
  await vscode.window.showTextDocument(vscode.Uri.parse(uri), { selection: new vscode.Range(at, at) });
  await vscode.commands.executeCommand("editor.action.marker.next");
}
