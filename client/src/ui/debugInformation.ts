/** What somebody who looks into a problem needs to know, in the extension's log. */
import * as vscode from "vscode";
import type { Supervisor } from "../server/supervisor";

export function printDebugInformation(supervisor: Supervisor): void {
  const { context, channels, plan, life, status } = supervisor;
  const manifest = context.extension.packageJSON as { version: string };
  const server = plan?.choice.server;
  const facts: readonly (readonly [string, string | object | boolean | undefined])[] = [
    ["TIRx Lens", manifest.version],
    ["VS Code", `${vscode.version} (${vscode.env.appName}, ${vscode.env.remoteName ?? "local"})`],
    ["platform", `${process.platform}-${process.arch}, node ${process.version}`],
    ["workspace trusted", vscode.workspace.isTrusted],
    ["workspace folders", (vscode.workspace.workspaceFolders ?? []).map(({ uri }) => uri.toString())],
    ["settings", plan?.settings],
    ["server runs on", server && `Python ${server.version}, ${server.executable}`],
    ["started with", plan?.launch && [plan.launch.program, ...plan.launch.args]],
    ["kernel interpreter", plan?.choice.kernel],
    ["problems with interpreters", plan?.choice.problems],
    ["server", life],
    ["server's last status", status],
  ];
  facts.forEach(([name, value]) => {
    const text = typeof value === "string" ? value : JSON.stringify(value ?? "none");
    channels.extension.info(`${name}: ${text}`);
  });
  channels.extension.show(true);
}
