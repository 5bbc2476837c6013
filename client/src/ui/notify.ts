/** Messages to the user about what happens in the background. */
import * as vscode from "vscode";
import { notificationLevel, type Notifications } from "../settings";
import { plain } from "./plain";

export type Severity = "error" | "warning" | "information";

export interface Button {
  readonly title: string;
  readonly run: () => unknown;
}

const SHOWN: Readonly<Record<Notifications, readonly Severity[]>> = {
  off: [],
  onError: ["error"],
  onWarning: ["error", "warning"],
  always: ["error", "warning", "information"],
};

/** Tell of an event in the background, in the log always and on the screen as the settings say. */
export function notify(
  log: vscode.LogOutputChannel,
  severity: Severity,
  message: string,
  ...buttons: readonly Button[]
): void {
  logOf(log, severity)(message);
  if (SHOWN[notificationLevel()].includes(severity)) {
    void show(severity, message, ...buttons);
  }
}

/** Show a message whatever the settings say: it answers something the user did. */
export async function show(
  severity: Severity,
  message: string,
  ...buttons: readonly Button[]
): Promise<void> {
  const titles = buttons.map((button) => button.title);
  const chosen = await shower(severity)(plain(message), ...titles);
  await buttons.find((button) => button.title === chosen)?.run();
}

/** A button to a setting of the machine, which in a remote window is not among the user's. */
export const openMachineSettings = (query: string): Button => ({
  title: "Open Settings",
  run: () =>
    vscode.env.remoteName === undefined
      ? vscode.commands.executeCommand("workbench.action.openSettings", query)
      : vscode.commands.executeCommand("workbench.action.openRemoteSettings", { query }),
});

export const command = (title: string, name: string): Button => ({
  title,
  run: () => vscode.commands.executeCommand(name),
});

function shower(severity: Severity): (message: string, ...items: string[]) => Thenable<string | undefined> {
  switch (severity) {
    case "error":
      return vscode.window.showErrorMessage;
    case "warning":
      return vscode.window.showWarningMessage;
    case "information":
      return vscode.window.showInformationMessage;
  }
}

function logOf(log: vscode.LogOutputChannel, severity: Severity): (message: string) => void {
  switch (severity) {
    case "error":
      return (message) => log.error(message);
    case "warning":
      return (message) => log.warn(message);
    case "information":
      return (message) => log.info(message);
  }
}
