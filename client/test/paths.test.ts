import assert from "node:assert/strict";
import { test } from "node:test";
import { candidatesOnPath, expand, isInside, withExtension } from "../src/paths";

const VARIABLES = { home: "/home/ada", workspaceFolder: "/work space", environment: { CONDA: "/opt/conda" } };

for (const [value, expanded] of [
  ["~/env/bin/python", "/home/ada/env/bin/python"],
  ["~", "/home/ada"],
  ["~ada/python", "~ada/python"],
  ["${workspaceFolder}/.venv/bin/python", "/work space/.venv/bin/python"],
  ["${env:CONDA}/bin/${env:NONE}python", "/opt/conda/bin/python"],
  ["${userHome}/p", "/home/ada/p"],
  ["python3", "python3"],
] as const) {
  test(`${value} expands to ${expanded}`, () => {
    assert.equal(expand(value, VARIABLES), expanded);
  });
}

test("a folder's name at the start of another's is not that folder", () => {
  assert.ok(isInside("/ws/a/python", "/ws"));
  assert.ok(isInside("/ws", "/ws"));
  assert.ok(isInside("/ws/..hidden", "/ws"));
  assert.ok(!isInside("/ws-other/python", "/ws"));
  assert.ok(!isInside("/ws/../python", "/ws"));
});

test("on Windows a program is a file with an extension, in folders between semicolons", () => {
  assert.deepEqual(candidatesOnPath("python", 'C:\\Python312;.;"D:\\my tools"', "win32"), [
    "C:\\Python312\\python.exe",
    "D:\\my tools\\python.exe",
  ]);
  assert.equal(withExtension("C:\\env\\python3.12", "win32"), "C:\\env\\python3.12.exe");
  assert.equal(withExtension("C:\\env\\Python.EXE", "win32"), "C:\\env\\Python.EXE");
  assert.equal(withExtension("/usr/bin/python3.12", "linux"), "/usr/bin/python3.12");
});

test("relative entries of PATH are passed over", () => {
  assert.deepEqual(candidatesOnPath("python3", ".:/usr/bin::bin:/opt/b"), [
    "/usr/bin/python3",
    "/opt/b/python3",
  ]);
});
