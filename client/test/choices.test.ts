import assert from "node:assert/strict";
import { test } from "node:test";
import { choices, choose, lastChoice, remember, type Memory } from "../src/cuda/choices";

const URI = "file:///w/kernel.py";

function memory(): Memory {
  const kept = new Map<string, unknown>();
  return {
    get: <T>(key: string, otherwise: T) => (kept.get(key) as T | undefined) ?? otherwise,
    update: (key, value) => Promise.resolve(void kept.set(key, value)),
  };
}

test("the last choice for each builder is kept, without what belongs to one request", async () => {
  const kept = memory();
  const request = { textDocument: { uri: URI }, position: { line: 1, character: 2 }, workDoneToken: "t" };
  await remember(kept, { ...request, config: "small", arch: "sm_90a" }, "get_kernel");
  await remember(kept, { ...request, argumentSet: "comment 2" }, "gemm");
  await remember(kept, { ...request, config: "large" }, "get_kernel");
  assert.deepEqual(choices(kept), [
    { textDocument: { uri: URI }, builder: "get_kernel", config: "large" },
    { textDocument: { uri: URI }, builder: "gemm", argumentSet: "comment 2" },
  ]);
  assert.equal(lastChoice(kept, URI, "gemm")?.argumentSet, "comment 2");
  assert.equal(lastChoice(kept, "file:///w/other.py", "gemm"), undefined);
});

test("chosen arguments stay while builds are remembered, until they are given back", async () => {
  const kept = memory();
  const textDocument = { uri: URI };
  await remember(kept, { textDocument, answers: { M: "1" }, arch: "sm_90a" }, "gemm");
  await choose(kept, URI, "gemm", { arguments: { K: "512" } });
  assert.deepEqual(choices(kept), [{ textDocument, builder: "gemm", arguments: { K: "512" }, arch: "sm_90a" }]);
  await remember(kept, { textDocument, argumentSet: "comment" }, "gemm");
  assert.deepEqual(lastChoice(kept, URI, "gemm")?.arguments, { K: "512" });
  await choose(kept, URI, "gemm", {});
  assert.deepEqual(choices(kept), [{ textDocument, builder: "gemm" }]);
});

test("of very many choices the newest are kept", async () => {
  const kept = memory();
  for (let number = 0; number < 250; number++) {
    await remember(kept, { textDocument: { uri: `${URI}${number}` } }, "gemm");
  }
  assert.equal(choices(kept).length, 200);
  assert.notEqual(lastChoice(kept, `${URI}249`, "gemm"), undefined);
  assert.equal(lastChoice(kept, `${URI}0`, "gemm"), undefined);
});
