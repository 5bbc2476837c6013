/** The extension's settings, read once into a plain value. */
import * as os from "node:os";
import * as vscode from "vscode";
import { expand } from "./paths";

export const SECTION = "tirx-lens";

export type Notifications = "off" | "onError" | "onWarning" | "always";

export interface Settings {
  readonly enable: boolean;
  /** A program and its arguments; empty where the user named none. */
  readonly interpreter: readonly string[];
  readonly importStrategy: "useBundled" | "fromEnvironment";
  /** A `tirx-lens` program to run in place of the bundled server; empty for none. */
  readonly path: string;
  readonly args: readonly string[];
  readonly logLevel: string;
  readonly select: readonly string[];
  readonly ignore: readonly string[];
  readonly arch: string;
  /** Seconds. */
  readonly timeLimit: number;
  readonly buildOnSave: boolean;
  readonly inlayHintsParticipants: boolean;
  readonly inlayHintsArrivals: boolean;
  readonly codeLens: boolean;
  /** The user's own targets by name. No workspace can set them. */
  readonly targets: Readonly<Record<string, unknown>>;
}

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
  const text = (name: string): string => expand(configuration.get<string>(name, ""), variables);
  const list = (name: string): readonly string[] => configuration.get<string[]>(name, []);
  return {
    enable: configuration.get("enable", true),
    interpreter: list("interpreter")
      .map((word) => expand(word, variables))
      .filter((word) => word !== ""),
    importStrategy: configuration.get("importStrategy", "useBundled"),
    path: text("path"),
    args: list("args").map((word) => expand(word, variables)),
    logLevel: configuration.get("logLevel", "info"),
    select: list("select"),
    ignore: list("ignore"),
    arch: configuration.get("build.arch", "sm_100a"),
    timeLimit: configuration.get("build.timeLimit", 120),
    buildOnSave: configuration.get("build.onSave", false),
    inlayHintsParticipants: configuration.get("inlayHints.participants", false),
    inlayHintsArrivals: configuration.get("inlayHints.arrivals", false),
    codeLens: configuration.get("codeLens", true),
    targets: configuration.get("targets", {}),
  };
}

export function notificationLevel(): Notifications {
  return vscode.workspace.getConfiguration(SECTION).get("showNotifications", "onWarning");
}

/** Tell whether a change of configuration needs the server started anew. */
export function needsRestart(event: vscode.ConfigurationChangeEvent): boolean {
  return NEED_RESTART.some((name) => event.affectsConfiguration(name));
}
