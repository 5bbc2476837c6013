/** "Choose Kernel Interpreter": the Pythons of this machine, and which of them has TVM. */
import * as path from "node:path";
import { PVSC_EXTENSION_ID } from "@vscode/python-extension";
import * as vscode from "vscode";
import { readSettings, SECTION } from "../settings";
import { show } from "../ui/notify";
import { activeInterpreter } from "./extension";
import { probe, tvmOf } from "./probe";
import { resolveProgram } from "./trusted";

const NAMES = ["python3", "python", "python3.14", "python3.13", "python3.12", "python3.11", "python3.10"];
/** Where people put the environment of a project, below its folder. */
const ENVIRONMENTS = [".venv/bin/python", "venv/bin/python", ".venv/Scripts/python.exe"];

interface Item extends vscode.QuickPickItem {
  readonly pick: () => Promise<readonly string[] | undefined>;
}

/** Let the user choose the Python that builds kernels, and put it into the settings. */
export async function chooseInterpreter(log: vscode.LogOutputChannel): Promise<void> {
  const items = (async (): Promise<Item[]> => [...(await known(log)), ...others()])();
  const picked = await vscode.window.showQuickPick(items, {
    title: "Kernel Interpreter",
    placeHolder: "Which Python has TVM? Kernels are built with it.",
    matchOnDescription: true,
  });
  const command = await picked?.pick();
  if (command === undefined) {
    return;
  }
  try {
    await probe(command);
  } catch (error) {
    await show("error", `${command.join(" ")} ${error instanceof Error ? error.message : String(error)}.`);
    return;
  }
  const tvm = await tvmOf(command);
  // Settings of the machine: no workspace is to say which program runs.
  await vscode.workspace.getConfiguration(SECTION).update("interpreter", command, vscode.ConfigurationTarget.Global);
  if (tvm === undefined) {
    await show(
      "warning",
      `${command.join(" ")} has no TVM: kernels are checked, but none can be built. Install apache-tvm there, or choose another.`,
    );
  }
}

/** The interpreters that can be found, those with TVM first. A workspace's own only where it is trusted. */
async function known(log: vscode.LogOutputChannel): Promise<readonly Item[]> {
  const commands = new Map<string, readonly string[]>();
  const add = (command: readonly string[]): void => {
    if (command.length > 0) {
      commands.set(command.join("\0"), command);
    }
  };
  add(readSettings().interpreter);
  if (vscode.workspace.isTrusted) {
    const active = await activeInterpreter(log);
    add(active === undefined ? [] : [active]);
    for (const { uri } of vscode.workspace.workspaceFolders ?? []) {
      for (const name of ENVIRONMENTS) {
        const program = await resolveProgram(path.join(uri.fsPath, name), "");
        add(program === undefined ? [] : [program]);
      }
    }
    for (const name of NAMES) {
      const program = await resolveProgram(name, process.env.PATH ?? "");
      add(program === undefined ? [] : [program]);
    }
  }
  const found = await Promise.all([...commands.values()].map(describe));
  const usable = found.filter((item) => item !== undefined);
  return [...usable.filter(({ tvm }) => tvm !== undefined), ...usable.filter(({ tvm }) => tvm === undefined)];
}

async function describe(command: readonly string[]): Promise<(Item & { tvm: string | undefined }) | undefined> {
  try {
    const { version } = await probe(command);
    const tvm = await tvmOf(command);
    return {
      label: command.join(" "),
      description: `Python ${version}, ${tvm === undefined ? "no TVM" : `TVM ${tvm}`}`,
      tvm,
      pick: () => Promise.resolve(command),
    };
  } catch {
    return undefined; // not a Python, or none that runs
  }
}

function others(): readonly Item[] {
  const browse: Item = {
    label: "$(folder-opened) Browse...",
    pick: async () => {
      const [file] = (await vscode.window.showOpenDialog({ title: "The Python that has TVM", openLabel: "Choose" })) ?? [];
      return file === undefined ? undefined : [file.fsPath];
    },
  };
  const ask: Item = {
    label: "$(symbol-misc) As in the Python extension...",
    pick: async () => {
      await vscode.workspace.getConfiguration(SECTION).update("interpreter", undefined, vscode.ConfigurationTarget.Global);
      await vscode.commands.executeCommand("python.setInterpreter");
      return undefined;
    },
  };
  return vscode.extensions.getExtension(PVSC_EXTENSION_ID) === undefined ? [browse] : [ask, browse];
}
