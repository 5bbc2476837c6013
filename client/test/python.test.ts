import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { test, type TestContext } from "node:test";
import { choosePython } from "../src/python/choose";
import { hasServer, probe, tooOld } from "../src/python/probe";
import { isOutside, resolveProgram } from "../src/python/trusted";

async function folder(t: TestContext): Promise<string> {
  const made = await mkdtemp(path.join(tmpdir(), "tirx-lens-"));
  t.after(() => rm(made, { recursive: true }));
  return made;
}

interface Fake {
  readonly name?: string;
  readonly machine?: string;
  /** What the modules that it loads are named like; of Linux on x86-64 unless said. */
  readonly suffixes?: string;
  /** Whether tirx-lens is installed for it. */
  readonly installed?: boolean;
}

/** A program that answers as an interpreter of some version would. */
async function fakePython(file: string, version: string, fake: Fake = {}): Promise<string> {
  const tag = version.split(".").slice(0, 2).join("");
  const { name = "cpython", machine = "x86_64", installed = false } = fake;
  const suffixes = fake.suffixes ?? `.${name}-${tag}-${machine}-linux-gnu.so:.abi3.so:.so`;
  const answer = `${file}|${version}|${name}|${name}-${tag}|${machine}|${suffixes}`;
  const asksForServer = `case "$*" in *tirx_lens*) echo ${installed ? "True" : "False"}; exit;; esac`;
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, `#!/bin/sh\n${asksForServer}\necho "${answer}"\n`);
  await chmod(file, 0o755);
  return file;
}

async function libraries(root: string, ...tags: string[]): Promise<string> {
  return withModules(root, ...tags.map((tag) => `_binding.${tag}-x86_64-linux-gnu.so`));
}

async function withModules(root: string, ...names: string[]): Promise<string> {
  const core = path.join(root, "libs", "tree_sitter");
  await mkdir(core, { recursive: true });
  for (const name of names) {
    await writeFile(path.join(core, name), "");
  }
  return path.dirname(core);
}

test("a real interpreter tells its version", async () => {
  const python = await probe(["python3"]);
  assert.equal(python.implementation, "cpython");
  assert.match(python.version, /^3\.\d+\.\d+$/);
  assert.equal(tooOld(python), undefined);
});

test("what is no interpreter says why", async (t) => {
  const here = await folder(t);
  await assert.rejects(probe([path.join(here, "none")]), { message: "does not exist" });
  await writeFile(path.join(here, "data"), "no program");
  await assert.rejects(probe([path.join(here, "data")]), { message: "is not a program that may be run" });
  await assert.rejects(probe(["false"]), { message: /^failed: / });
  await assert.rejects(probe(["true"]), { message: "did not answer as a Python interpreter does" });
});

test("3.9 is too old and 3.10 is not", async (t) => {
  const here = await folder(t);
  const old = await probe([await fakePython(path.join(here, "p39"), "3.9.18")]);
  assert.equal(tooOld(old), "is Python 3.9.18; TIRx Lens needs 3.10 or newer");
  assert.equal(tooOld(await probe([await fakePython(path.join(here, "p310"), "3.10.0")])), undefined);
});

test("the chosen interpreter runs the server where it can", async (t) => {
  const here = await folder(t);
  const chosen = await fakePython(path.join(here, "env/bin/python"), "3.12.1");
  const choice = await choosePython([chosen], {
    searchPath: "",
    forbidden: [],
    environments: true,
    libraries: await libraries(here, "cpython-312"),
  });
  assert.deepEqual(choice.kernel, [chosen]);
  assert.deepEqual(choice.server?.command, [chosen]);
  assert.deepEqual(choice.problems, []);
});

test("a kernel interpreter that is too old still builds kernels, and another runs the server", async (t) => {
  const here = await folder(t);
  const old = await fakePython(path.join(here, "old/python"), "3.9.1");
  const good = await fakePython(path.join(here, "bin/python3"), "3.11.2");
  const choice = await choosePython([old], {
    searchPath: path.join(here, "bin"),
    forbidden: [],
    environments: true,
    libraries: await libraries(here, "cpython-311"),
  });
  assert.deepEqual(choice.kernel, [old]);
  assert.deepEqual(choice.server?.command, [good]);
  assert.equal(choice.chosenProblem, undefined);
});

test("a chosen interpreter that does not exist is told, and the checks run all the same", async (t) => {
  const here = await folder(t);
  const good = await fakePython(path.join(here, "bin/python3"), "3.11.2");
  const choice = await choosePython(["/nowhere/python"], {
    searchPath: path.join(here, "bin"),
    forbidden: [],
    environments: true,
    libraries: await libraries(here, "cpython-311"),
  });
  assert.equal(choice.chosenProblem, "/nowhere/python does not exist.");
  assert.deepEqual(choice.server?.command, [good]);
});

test("no interpreter at all leaves the reasons", async (t) => {
  const here = await folder(t);
  await fakePython(path.join(here, "bin/python3"), "3.8.0");
  await fakePython(path.join(here, "bin/python"), "3.15.0");
  const choice = await choosePython([], {
    searchPath: path.join(here, "bin"),
    forbidden: [],
    environments: true,
    libraries: await libraries(here, "cpython-311"),
  });
  assert.equal(choice.server, undefined);
  assert.equal(choice.problems.length, 2);
  assert.match(choice.problems[0] ?? "", /3\.8\.0; TIRx Lens needs 3\.10 or newer/);
  assert.match(choice.problems[1] ?? "", /is cpython-315 on x86_64, which this build/);
});

for (const [system, machine, suffixes, module] of [
  ["macOS", "arm64", ".cpython-312-darwin.so:.abi3.so:.so", "_binding.cpython-312-darwin.so"],
  ["Windows", "AMD64", ".cp312-win_amd64.pyd:.pyd", "_binding.cp312-win_amd64.pyd"],
  ["Linux on ARM", "aarch64", ".cpython-312-aarch64-linux-gnu.so:.so", "_binding.cpython-312-aarch64-linux-gnu.so"],
] as const) {
  test(`the parser of ${system} is found by the name that Python there gives it`, async (t) => {
    const here = await folder(t);
    const chosen = await fakePython(path.join(here, "env/python"), "3.12.1", { machine, suffixes });
    const place = { searchPath: "", forbidden: [], environments: true };
    const fits = await choosePython([chosen], { ...place, libraries: await withModules(here, module) });
    assert.equal(fits.server?.strategy, "useBundled");
    const others = await withModules(path.join(here, "other"), module.replace("312", "311"));
    const none = await choosePython([chosen], { ...place, libraries: others });
    assert.equal(none.server, undefined);
    assert.match(none.problems[0] ?? "", /is cpython-312 on \w+, which this build of the extension has no parser for/);
  });
}

test("an interpreter without GIL does not load the modules of one that has it", async (t) => {
  const here = await folder(t);
  const suffixes = ".cpython-313t-x86_64-linux-gnu.so:.so";
  const chosen = await fakePython(path.join(here, "env/python"), "3.13.1", { suffixes });
  const choice = await choosePython([chosen], {
    searchPath: "",
    forbidden: [],
    environments: true,
    libraries: await libraries(here, "cpython-313"),
  });
  assert.equal(choice.server, undefined);
});

test("a Python of the other processor cannot load what is for this one, under the same name", async (t) => {
  const here = await folder(t);
  const suffixes = ".cpython-312-darwin.so:.abi3.so:.so";
  const chosen = await fakePython(path.join(here, "env/python"), "3.12.1", { machine: "x86_64", suffixes });
  const libraries = await withModules(here, "_binding.cpython-312-darwin.so");
  const place = { searchPath: "", forbidden: [], environments: true, libraries };
  assert.equal((await choosePython([chosen], { ...place, machine: "arm64" })).server, undefined);
  assert.equal((await choosePython([chosen], { ...place, machine: "x86_64" })).server?.strategy, "useBundled");
});

test("where the bundled parser does not fit, an installed tirx-lens serves, once trusted", async (t) => {
  const here = await folder(t);
  const chosen = await fakePython(path.join(here, "env/python"), "3.15.0", { installed: true });
  const place = { searchPath: "", forbidden: [], libraries: await libraries(here, "cpython-314") };
  const trusted = await choosePython([chosen], { ...place, environments: true });
  assert.equal(trusted.server?.strategy, "fromEnvironment");
  assert.match(trusted.problems.join(), /no parser for: the tirx-lens that is installed there is used\.$/);
  const untrusted = await choosePython([chosen], { ...place, environments: false });
  assert.equal(untrusted.server, undefined);
});

test("a real interpreter says which modules it loads, and whether tirx-lens is installed", async () => {
  const python = await probe([process.env.TIRX_LENS_PYTHON ?? "python3"]);
  assert.ok(python.suffixes.some((suffix) => suffix.startsWith(`.${python.cacheTag}-`)));
  assert.equal(await hasServer({ ...python, command: [...python.command, "-I", "-S"] }), false);
});

test("nothing of a forbidden folder is run, by whatever way it is named", async (t) => {
  const workspace = await folder(t);
  const elsewhere = await folder(t);
  const mark = path.join(elsewhere, "mark");
  const evil = path.join(workspace, "bin/python3");
  await mkdir(path.dirname(evil));
  await writeFile(evil, `#!/bin/sh\ntouch "${mark}"\necho "x|3.11.0|cpython|cpython-311|x86_64|.so"\n`);
  await chmod(evil, 0o755);
  const link = path.join(elsewhere, "python");
  await symlink(evil, link);
  const linkedFolder = path.join(elsewhere, "linked");
  await symlink(workspace, linkedFolder);
  const place = {
    searchPath: [path.dirname(evil), elsewhere].join(path.delimiter),
    forbidden: [workspace],
    libraries: undefined,
    environments: false,
  };
  for (const chosen of [[], [evil], [link], [path.join(linkedFolder, "bin/python3")], ["python3"]]) {
    const choice = await choosePython(chosen, place);
    assert.equal(choice.server, undefined);
  }
  assert.deepEqual((await readdir(elsewhere)).sort(), ["linked", "python"]);
});

test("a file is outside only if its link's end is too", async (t) => {
  const workspace = await folder(t);
  const elsewhere = await folder(t);
  await symlink("/bin/sh", path.join(workspace, "sh"));
  assert.equal(await isOutside(path.join(workspace, "sh"), [workspace]), false);
  assert.equal(await isOutside("/bin/sh", [workspace]), true);
  assert.equal(await isOutside(path.join(elsewhere, "none"), [workspace]), true);
});

test("a relative name with a slash means no program", async () => {
  assert.equal(await resolveProgram("bin/python3", "/usr"), undefined);
  assert.equal(await resolveProgram("sh", "/nowhere:/bin"), "/bin/sh");
});
