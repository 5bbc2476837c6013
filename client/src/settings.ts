/** The extension's settings, read once into a plain value. */
import * as os from "node:os";
import * as vscode from "vscode";
import { expand } from "./paths";
import { SettingValues } from "./settingValues";

export const SECTION = "tirx-lens";

const NOTIFICATIONS = ["off", "onError", "onWarning", "always"] as const;
export type Notifications = (typeof NOTIFICATIONS)[number];

export interface Settings {
  /** What is wrong in settings that are read here, one sentence each. */
  readonly problems: readonly string[];
  readonly enable: boolean;
  /** A program and its arguments; empty where the user named none. */
  readonly interpreter: readonly string[];
  readonly importStrategy: "useBundled" | "fromEnvironment";
  /** A `tirx-lens` program to run in place of the bundled server; empty for none. */
  readonly path: string;
  readonly args: readonly string[];
  readonly logLevel: string;
  /** The architecture to build for where none was chosen. */
  readonly arch: string;
  /** What the server reads, by names without the section. It checks every value. */
  readonly forServer: Readonly<Record<string, unknown>>;
}

const FOR_SERVER = [
  "select",
  "ignore",
  "build.arch",
  "build.timeLimit",
  "build.onSave",
  "inlayHints.participants",
  "inlayHints.arrivals",
  "codeLens",
  "targets",
];

/** What the server is started with. The other settings take effect without a restart. */
const NEED_RESTART = [
  "enable",
  "interpreter",
  "importStrategy",
  "path",
  "args",
  "logLevel",
  "select",
  "ignore",
  "build",
  "inlayHints",
  "codeLens",
  "targets",
].map((name) => `${SECTION}.${name}`);

/**
 * Read the settings as they stand. In an untrusted workspace VS Code itself leaves out what the
 * workspace says about those listed under `restrictedConfigurations`.
 */
export function readSettings(): Settings {
  const configuration = vscode.workspace.getConfiguration(SECTION);
  const variables = {
    home: os.homedir(),
    workspaceFolder: vscode.workspace.workspaceFolders?.[0]?.uri.fsPath,
    environment: process.env,
  };
  const values = new SettingValues(SECTION, (name) => configuration.get(name));
  return {
    enable: values.flag("enable", true),
    interpreter: values
      .list("interpreter")
      .map((word) => expand(word, variables))
      .filter((word) => word !== ""),
    importStrategy: values.oneOf("importStrategy", ["useBundled", "fromEnvironment"], "useBundled"),
    path: expand(values.text("path", ""), variables),
    args: values.list("args").map((word) => expand(word, variables)),
    logLevel: values.oneOf("logLevel", ["error", "warning", "info", "debug"], "info"),
    arch: values.text("build.arch", "sm_100a"),
    forServer: Object.fromEntries(FOR_SERVER.map((name) => [name, configuration.get(name)])),
    problems: values.problems,
  };
}

export function notificationLevel(): Notifications {
  const configuration = vscode.workspace.getConfiguration(SECTION);
  const values = new SettingValues(SECTION, (name) => configuration.get(name));
  return values.oneOf("showNotifications", NOTIFICATIONS, "onWarning");
}

/** Tell whether a change of configuration needs the server started anew. */
export function needsRestart(event: vscode.ConfigurationChangeEvent): boolean {
  return NEED_RESTART.some((name) => event.affectsConfiguration(name));
}
