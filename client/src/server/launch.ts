/** How the server is started: the program, its arguments and what it is told first. */
import * as path from "node:path";
import * as vscode from "vscode";
import { choices } from "../cuda/choices";
import { LENS_COMMANDS } from "../lenses";
import type { InitializationOptions } from "../protocol";
import { choosePython, type Choice } from "../python/choose";
import { activeInterpreter } from "../python/extension";
import { readSettings, type Settings } from "../settings";
import { targetMemory } from "../targets/workspace";

/** What Python calls the processors that Node names so. The bundled libraries are for Node's. */
const MACHINES_OF_MACOS: Readonly<Record<string, string>> = { arm64: "arm64", x64: "x86_64" };

export interface Launch {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly options: InitializationOptions;
}

export interface Plan {
  readonly settings: Settings;
  readonly choice: Choice;
  /** Undefined where nothing on this machine can run the server. */
  readonly launch: Launch | undefined;
}

/** Find out how the server would be started now. Runs interpreters, but none of the workspace's. */
export async function planLaunch(
  context: vscode.ExtensionContext,
  log: vscode.LogOutputChannel,
): Promise<Plan> {
  const trusted = vscode.workspace.isTrusted;
  const settings = readSettings();
  const folders = (vscode.workspace.workspaceFolders ?? []).map((folder) => folder.uri.fsPath);
  const bundled = path.join(context.extensionPath, "bundled");
  const fromEnvironment = trusted && settings.importStrategy === "fromEnvironment";
  const choice = await choosePython(await chosenInterpreter(settings, trusted, log), {
    searchPath: process.env.PATH ?? "",
    forbidden: trusted ? [] : folders,
    libraries: fromEnvironment ? undefined : path.join(bundled, "libs"),
    machine: process.platform === "darwin" ? MACHINES_OF_MACOS[process.arch] : undefined,
    environments: trusted,
  });
  const { chosen, confirmed } = targetMemory(context);
  const start = startCommand(settings, choice, bundled, trusted);
  return {
    settings,
    choice,
    launch: start && {
      program: start[0],
      args: start.slice(1),
      cwd: (trusted ? folders[0] : undefined) ?? context.extensionPath,
      options: {
        trusted,
        commands: LENS_COMMANDS,
        choices: choices(context.workspaceState),
        targets: { chosen, confirmed },
        settings: {
          interpreter: choice.kernel,
          ...settings.forServer,
          enable: settings.enable,
        },
      },
    },
  };
}

async function chosenInterpreter(
  settings: Settings,
  trusted: boolean,
  log: vscode.LogOutputChannel,
): Promise<readonly string[]> {
  if (settings.interpreter.length > 0) {
    return settings.interpreter;
  }
  // The Python extension's choice can be the workspace's own environment.
  const active = trusted ? await activeInterpreter(log) : undefined;
  return active === undefined ? [] : [active];
}

function startCommand(
  settings: Settings,
  choice: Choice,
  bundled: string,
  trusted: boolean,
): readonly [string, ...string[]] | undefined {
  const args = ["--log-level", settings.logLevel, ...settings.args];
  if (trusted && settings.path !== "") {
    return [settings.path, "server", ...args];
  }
  const [program, ...rest] = choice.server?.command ?? [];
  if (program === undefined || choice.server === undefined) {
    return undefined;
  }
  // The bundled server needs nothing of its interpreter but the standard library: isolated, no
  // module of the user's can stand in front of one of its own.
  const { strategy } = choice.server;
  const isolation = strategy === "fromEnvironment" ? [] : ["-I", "-S"];
  const script = path.join(bundled, "run_server.py");
  return [program, ...rest, "-X", "utf8", ...isolation, script, strategy, ...args];
}
