/**
 * Two interpreters: the one kernels are built with, which the user chooses, and the one the server
 * runs on, which is the same where it can be. So a wrong setting costs the CUDA, not the checks.
 */
import { readdir } from "node:fs/promises";
import * as path from "node:path";
import { isOutside, resolveProgram } from "./trusted";
import { probe, tooOld, UnusablePython, type Python } from "./probe";

/** Names under which PATH may hold a Python, in the order they are tried. */
const NAMES = ["python3", "python", "python3.14", "python3.13", "python3.12", "python3.11", "python3.10"];

export interface Place {
  /** `PATH`. */
  readonly searchPath: string;
  /** Where no program may come from; the workspace's folders while it is not trusted. */
  readonly forbidden: readonly string[];
  /** The bundled libraries, or undefined where the environment's own are to be used. */
  readonly libraries: string | undefined;
}

export interface Choice {
  /** The kernel interpreter; empty where there is none. */
  readonly kernel: readonly string[];
  /** Undefined where nothing on this machine can run the server. */
  readonly server: Python | undefined;
  /** What was tried and could not serve, one sentence each, the user's own choice first. */
  readonly problems: readonly string[];
  /** Why the interpreter that the user chose cannot be used. */
  readonly chosenProblem: string | undefined;
}

/** Choose both interpreters. `chosen` is what the user named; empty for no preference. */
export async function choosePython(chosen: readonly string[], place: Place): Promise<Choice> {
  const problems: string[] = [];
  let chosenProblem: string | undefined;
  let kernel = chosen;
  let server: Python | undefined;
  if (chosen.length > 0) {
    try {
      const python = await probe(await admit(chosen, place));
      const reason = await cannotServe(python, place);
      kernel = python.command;
      if (reason === undefined) {
        server = python;
      } else {
        problems.push(`${chosen.join(" ")} ${reason}.`);
      }
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

async function firstOnPath(place: Place, problems: string[]): Promise<Python | undefined> {
  for (const name of NAMES) {
    const accept = (file: string): Promise<boolean> => isOutside(file, place.forbidden);
    const program = await resolveProgram(name, place.searchPath, accept);
    if (program === undefined) {
      continue;
    }
    try {
      const python = await probe([program]);
      const reason = await cannotServe(python, place);
      if (reason === undefined) {
        return python;
      }
      problems.push(`${program} ${reason}.`);
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

async function cannotServe(python: Python, place: Place): Promise<string | undefined> {
  const old = tooOld(python);
  if (old !== undefined || place.libraries === undefined) {
    return old;
  }
  // Compiled modules carry the interpreter and the machine they were built for in their names.
  const built = await readdir(path.join(place.libraries, "tree_sitter"));
  return built.some((name) => name.includes(`.${python.cacheTag}-${python.machine}`))
    ? undefined
    : `is ${python.cacheTag} on ${python.machine}, which this build of the extension has no parser for`;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
