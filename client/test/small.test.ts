import assert from "node:assert/strict";
import { test } from "node:test";
import { Crashes } from "../src/server/crashes";
import { isSentAsMessage, parseLogLine } from "../src/server/log";
import { importsTirx } from "../src/ui/imports";

test("three stops within three minutes are mended, the fourth is told", () => {
  const crashes = new Crashes();
  assert.deepEqual(
    [0, 1000, 2000].map((now) => crashes.record(now)),
    [
      { restart: true, pauseMs: 0, count: 1 },
      { restart: true, pauseMs: 1000, count: 2 },
      { restart: true, pauseMs: 2000, count: 3 },
    ],
  );
  assert.equal(crashes.record(3000).restart, false);
});

test("old stops are forgotten, and all of them when the user starts the server", () => {
  const crashes = new Crashes();
  for (const now of [0, 1000, 2000]) {
    crashes.record(now);
  }
  assert.deepEqual(crashes.record(181_500), { restart: true, pauseMs: 1000, count: 2 });
  crashes.clear();
  assert.deepEqual(crashes.record(182_000), { restart: true, pauseMs: 0, count: 1 });
});

test("log lines keep their level and logger", () => {
  const text = "2026-11-29 15:22:01,123 WARNING tirx_lens.lsp.server: rule TX102 failed: no";
  const line = { level: "warn", logger: "tirx_lens.lsp.server", message: "rule TX102 failed: no" } as const;
  assert.deepEqual(parseLogLine(text), line);
  assert.ok(isSentAsMessage(line));
});

test("other lines are kept whole, and are the process's own", () => {
  const line = parseLogLine("ModuleNotFoundError: No module named 'x'");
  assert.deepEqual(line, { level: "info", logger: undefined, message: "ModuleNotFoundError: No module named 'x'" });
  assert.ok(!isSentAsMessage(line));
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
