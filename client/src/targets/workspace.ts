/** The memory of targets of this window's workspace. */
import * as vscode from "vscode";
import { TargetMemory } from "./memory";

export function targetMemory(context: vscode.ExtensionContext): TargetMemory {
  const { workspaceFile, workspaceFolders } = vscode.workspace;
  const workspace = (workspaceFile ?? workspaceFolders?.[0]?.uri)?.toString();
  return new TargetMemory(context.workspaceState, context.globalState, workspace);
}
