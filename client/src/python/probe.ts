/** What a Python interpreter is, asked of itself. */
import { execFile } from "node:child_process";

/** The oldest Python that the server runs on. */
export const OLDEST: readonly [number, number] = [3, 10];

const LIMIT_MS = 10_000;

// Old enough in its spelling for any Python 3, so that one that is too old can still say so.
const QUESTION =
  "import sys, platform, importlib.machinery as m; i = sys.implementation; " +
  "print('|'.join([sys.executable, '.'.join(map(str, sys.version_info[:3])), i.name, i.cache_tag or '', " +
  "platform.machine(), ':'.join(m.EXTENSION_SUFFIXES)]))";

// Without the folder it is run in, which comes first otherwise.
const HAS_SERVER =
  "import sys; del sys.path[0]; import importlib.util; print(importlib.util.find_spec('tirx_lens') is not None)";

// Reads what is installed, and imports none of it.
const TVM_QUESTION = [
  "import importlib.metadata as m, importlib.util as u",
  "names = [n for n in ('tvm', 'tvm_tirx') if u.find_spec(n)]",
  "found = [d.version for n in ('apache-tvm', 'apache-tvm-tirx') for d in m.distributions(name=n)]",
  "print((found or ['of an unknown version'])[0] if names else '')",
].join("\n");

export interface Python {
  /** The program and its arguments, as it was run. */
  readonly command: readonly string[];
  readonly executable: string;
  readonly version: string;
  /** "cpython", "pypy" and so on. */
  readonly implementation: string;
  /** "cpython-311". */
  readonly cacheTag: string;
  readonly machine: string;
  /** What the names of compiled modules end with that it loads: ".cp311-win_amd64.pyd", ".pyd". */
  readonly suffixes: readonly string[];
}

/** Why a program cannot serve as Python, as the end of a sentence that starts with its name. */
export class UnusablePython extends Error {}

/**
 * Run the interpreter, isolated from the folder and the variables around it, and read its answer.
 *
 * @throws UnusablePython where it does not start, is not Python 3, or takes over 10 s.
 */
export async function probe(command: readonly string[]): Promise<Python> {
  const [program, ...rest] = command;
  if (program === undefined) {
    throw new UnusablePython("names no program");
  }
  const answer = await run(program, [...rest, "-I", "-S", "-c", QUESTION]);
  const [executable, version, implementation, cacheTag, machine, suffixes] = answer.trim().split("|");
  if (machine === undefined || suffixes === undefined || executable === undefined || version === undefined) {
    throw new UnusablePython("did not answer as a Python interpreter does");
  }
  return {
    command,
    executable,
    version,
    implementation: implementation ?? "",
    cacheTag: cacheTag ?? "",
    machine,
    suffixes: suffixes.split(":"),
  };
}

/** The version of TVM that an interpreter has; undefined where it has none or cannot say. */
export async function tvmOf(command: readonly string[]): Promise<string | undefined> {
  const [program = "", ...rest] = command;
  const said = await run(program, [...rest, "-I", "-c", TVM_QUESTION]).catch(() => "");
  const last = said.trim().split("\n").at(-1) ?? "";
  return last === "" ? undefined : last;
}

/**
 * Tell whether tirx-lens is installed for an interpreter. Runs what its environment runs at each
 * start, so it is for trusted workspaces alone.
 */
export async function hasServer(python: Python): Promise<boolean> {
  const [program = "", ...rest] = python.command;
  return run(program, [...rest, "-c", HAS_SERVER]).then(
    (answer) => answer.trim() === "True",
    () => false,
  );
}

/** Why the server cannot run on this interpreter, or undefined where it can. */
export function tooOld(python: Python): string | undefined {
  const [major = 0, minor = 0] = python.version.split(".").map(Number);
  const old = major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]);
  return old ? `is Python ${python.version}; TIRx Lens needs ${OLDEST.join(".")} or newer` : undefined;
}

function run(program: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(program, args, { timeout: LIMIT_MS, windowsHide: true }, (error, stdout, stderr) => {
      if (error === null) {
        resolve(stdout);
      } else if (error.code === "ENOENT") {
        reject(new UnusablePython("does not exist"));
      } else if (error.code === "EACCES") {
        reject(new UnusablePython("is not a program that may be run"));
      } else if (error.killed === true) {
        reject(new UnusablePython(`did not answer within ${LIMIT_MS / 1000} s`));
      } else {
        const lastLine = stderr.trim().split("\n").at(-1) ?? "";
        reject(new UnusablePython(`failed: ${lastLine === "" ? error.message : lastLine}`));
      }
    });
  });
}
