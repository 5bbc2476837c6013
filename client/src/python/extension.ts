/** The interpreter chosen in the Python extension, where that extension is installed. */
import { PVSC_EXTENSION_ID, PythonExtension } from "@vscode/python-extension";
import * as vscode from "vscode";

/** The active interpreter's file for the workspace, or undefined where there is none to be had. */
export async function activeInterpreter(log: vscode.LogOutputChannel): Promise<string | undefined> {
  const api = await pythonApi(log);
  if (api === undefined) {
    return undefined;
  }
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const active = api.environments.getActiveEnvironmentPath(folder);
  const resolved = await api.environments.resolveEnvironment(active);
  return resolved?.executable.uri?.fsPath;
}

/** Call `changed` whenever the user chooses another interpreter in the Python extension. */
export async function onActiveInterpreterChanged(
  changed: () => void,
  log: vscode.LogOutputChannel,
): Promise<vscode.Disposable | undefined> {
  return (await pythonApi(log))?.environments.onDidChangeActiveEnvironmentPath(changed);
}

async function pythonApi(log: vscode.LogOutputChannel): Promise<PythonExtension | undefined> {
  if (vscode.extensions.getExtension(PVSC_EXTENSION_ID) === undefined) {
    return undefined;
  }
  try {
    return await PythonExtension.api();
  } catch (error) {
    log.warn(`The Python extension could not be asked for its interpreter: ${String(error)}`);
    return undefined;
  }
}
