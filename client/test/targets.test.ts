import assert from "node:assert/strict";
import { test } from "node:test";
import type { Memory } from "../src/cuda/choices";
import { TargetMemory } from "../src/targets/memory";

function memory(): Memory {
  const kept = new Map<string, unknown>();
  return {
    get: <T>(key: string, otherwise: T) => (kept.get(key) as T | undefined) ?? otherwise,
    update: (key, value) => Promise.resolve(void kept.set(key, value)),
  };
}

test("a workspace builds locally until another target is chosen, each its own", async () => {
  const everywhere = memory();
  const one = new TargetMemory(memory(), everywhere, "file:///one");
  const other = new TargetMemory(memory(), everywhere, "file:///other");
  assert.equal(one.chosen, "local");
  await one.choose("gpu1");
  assert.deepEqual([one.chosen, other.chosen], ["gpu1", "local"]);
});

test("what is confirmed counts for its workspace alone, in later sessions too", async () => {
  const everywhere = memory();
  const one = new TargetMemory(memory(), everywhere, "file:///one");
  await one.confirm("aa");
  await one.confirm("bb");
  await one.confirm("aa");
  assert.deepEqual(one.confirmed, ["aa", "bb"]);
  assert.deepEqual(new TargetMemory(memory(), everywhere, "file:///one").confirmed, ["aa", "bb"]);
  assert.deepEqual(new TargetMemory(memory(), everywhere, "file:///other").confirmed, []);
});

test("the workspace's own memory cannot confirm anything", () => {
  const ofWorkspace = memory();
  void ofWorkspace.update("targets.confirmed", [{ workspace: "file:///one", fingerprint: "aa" }]);
  assert.deepEqual(new TargetMemory(ofWorkspace, memory(), "file:///one").confirmed, []);
});

test("a window without a folder keeps no confirmation", async () => {
  const everywhere = memory();
  const nowhere = new TargetMemory(memory(), everywhere, undefined);
  await nowhere.confirm("aa");
  assert.deepEqual(nowhere.confirmed, []);
});

test("of very many confirmations the newest are kept", async () => {
  const one = new TargetMemory(memory(), memory(), "file:///one");
  for (let number = 0; number < 510; number++) {
    await one.confirm(String(number));
  }
  assert.equal(one.confirmed.length, 500);
  assert.equal(one.confirmed[0], "509");
});
