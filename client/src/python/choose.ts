/**
 * Two interpreters: the one kernels are built with, which the user chooses, and the one the server
 * runs on, which is the same where it can be. So a wrong setting costs the CUDA, not the checks.
 */
import { readdir } from "node:fs/promises";
import * as path from "node:path";
import { isOutside, resolveProgram } from "./trusted";
import { hasServer, probe, tooOld, UnusablePython, type Python } from "./probe";

/** Names under which PATH may hold a Python, in the order they are tried. */
const NAMES =
  process.platform === "win32"
    ? ["python", "python3", "py"]
    : ["python3", "python", "python3.14", "python3.13", "python3.12", "python3.11", "python3.10"];

export interface Place {
  /** `PATH`. */
  readonly searchPath: string;
  /** Where no program may come from; the workspace's folders while it is not trusted. */
  readonly forbidden: readonly string[];
  /** The bundled libraries, or undefined where the environment's own are to be used. */
  readonly libraries: string | undefined;
  /** The machine that the libraries are for, where their names do not say it: on macOS. */
  readonly machine?: string | undefined;
  /** Whether an environment's own server may stand in where the bundled one cannot run. */
  readonly environments: boolean;
}

/** An interpreter that can run the server, and where the server then comes from. */
export interface Host extends Python {
  readonly strategy: "useBundled" | "fromEnvironment";
}

export interface Choice {
  /** The kernel interpreter; empty where there is none. */
  readonly kernel: readonly string[];
  /** Undefined where nothing on this machine can run the server. */
  readonly server: Host | undefined;
  /** What was tried and could not serve as it is, one sentence each, the user's own choice first. */
  readonly problems: readonly string[];
  /** Why the interpreter that the user chose cannot be used. */
  readonly chosenProblem: string | undefined;
}

/** Choose both interpreters. `chosen` is what the user named; empty for no preference. */
export async function choosePython(chosen: readonly string[], place: Place): Promise<Choice> {
  const problems: string[] = [];
  let chosenProblem: string | undefined;
  let kernel = chosen;
  let server: Host | undefined;
  if (chosen.length > 0) {
    try {
      const python = await probe(await admit(chosen, place));
      kernel = python.command;
      server = await host(python, chosen.join(" "), place, problems);
    } catch (error) {
      chosenProblem = `${chosen.join(" ")} ${reasonOf(error)}.`;
      problems.push(chosenProblem);
    }
  }
  server ??= await firstOnPath(place, problems);
  if (chosen.length === 0) {
    kernel = server?.command ?? [];
  }
  return { kernel, server, problems, chosenProblem };
}

async function firstOnPath(place: Place, problems: string[]): Promise<Host | undefined> {
  for (const name of NAMES) {
    const accept = (file: string): Promise<boolean> => isOutside(file, place.forbidden);
    const program = await resolveProgram(name, place.searchPath, accept);
    if (program === undefined) {
      continue;
    }
    try {
      const found = await host(await probe([program]), program, place, problems);
      if (found !== undefined) {
        return found;
      }
    } catch (error) {
      problems.push(`${program} ${reasonOf(error)}.`);
    }
  }
  return undefined;
}

async function admit(command: readonly string[], place: Place): Promise<readonly string[]> {
  const [name = "", ...rest] = command;
  const program = await resolveProgram(name, place.searchPath);
  if (program === undefined) {
    throw new UnusablePython("does not exist");
  }
  if (!(await isOutside(program, place.forbidden))) {
    throw new UnusablePython("lies in this workspace, which is not trusted");
  }
  return [program, ...rest];
}

/** How the server runs on an interpreter; undefined, and one problem more, where it cannot. */
async function host(
  python: Python,
  name: string,
  place: Place,
  problems: string[],
): Promise<Host | undefined> {
  const old = tooOld(python);
  if (old !== undefined) {
    problems.push(`${name} ${old}.`);
    return undefined;
  }
  if (place.libraries === undefined) {
    return { ...python, strategy: "fromEnvironment" };
  }
  if (await hasParser(python, place.libraries, place.machine)) {
    return { ...python, strategy: "useBundled" };
  }
  const without = `is ${python.cacheTag} on ${python.machine}, which this build of the extension has no parser for`;
  if (place.environments && (await hasServer(python))) {
    problems.push(`${name} ${without}: the tirx-lens that is installed there is used.`);
    return { ...python, strategy: "fromEnvironment" };
  }
  problems.push(`${name} ${without}.`);
  return undefined;
}

/** Tell whether the parser is there in a form that an interpreter loads. */
async function hasParser(python: Python, libraries: string, machine?: string): Promise<boolean> {
  if (machine !== undefined && python.machine !== machine) {
    return false;
  }
  const built = await readdir(path.join(libraries, "tree_sitter"));
  return python.suffixes.some((suffix) => built.includes(`_binding${suffix}`));
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
