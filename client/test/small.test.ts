import assert from "node:assert/strict";
import { test } from "node:test";
import { Crashes } from "../src/server/crashes";
import { parseLogLine } from "../src/server/log";
import { importsTirx } from "../src/ui/imports";

test("three stops within three minutes are mended, the fourth is told", () => {
  const crashes = new Crashes();
  assert.deepEqual([0, 1000, 2000].map((now) => crashes.record(now).restart), [true, true, true]);
  assert.deepEqual(crashes.record(3000), { restart: false, count: 4 });
});

test("old stops are forgotten, and all of them when the user starts the server", () => {
  const crashes = new Crashes();
  for (const now of [0, 1000, 2000]) {
    crashes.record(now);
  }
  assert.deepEqual(crashes.record(181_500), { restart: true, count: 2 });
  crashes.clear();
  assert.deepEqual(crashes.record(182_000), { restart: true, count: 1 });
});

test("log lines keep their level", () => {
  assert.deepEqual(parseLogLine("WARNING:tirx_lens.lsp: slow"), { level: "warn", message: "tirx_lens.lsp: slow" });
  assert.deepEqual(parseLogLine("Traceback (most recent call last):"), {
    level: "info",
    message: "Traceback (most recent call last):",
  });
});

for (const text of [
  "from tvm.script import tirx as T",
  "import tvm.tirx",
  "import os\n    from tvm.tirx.op import x\n",
  "import tvm_tirx as tvm",
  "from tvm_tirx.script import tirx as T",
]) {
  test(`a TIRx file: ${text.trim()}`, () => assert.ok(importsTirx(text)));
}

for (const text of ["import tvm", "# from tvm.script import tirx", "import os # tvm tirx", "x = 'import tvm.tirx'"]) {
  test(`not a TIRx file: ${text}`, () => assert.ok(!importsTirx(text)));
}
