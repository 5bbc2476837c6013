import assert from "node:assert/strict";
import { test } from "node:test";
import { differing, firstGap, parseArguments, proposeArguments, written } from "../src/cuda/arguments";

const MNK = [{ name: "M" }, { name: "N" }, { name: "K", default: "64" }];

test("values are kept as they are written", () => {
  assert.deepEqual(parseArguments(" M=1024  N=2*512 K=64 ", MNK), {
    values: { M: "1024", N: "2*512", K: "64" },
  });
});

test("a space in quotes or brackets does not end a value", () => {
  const parameters = [{ name: "shape" }, { name: "name" }];
  assert.deepEqual(parseArguments(`shape=(1, [2, 3]) name="a ) b"`, parameters), {
    values: { shape: "(1, [2, 3])", name: '"a ) b"' },
  });
});

test("an equals sign in a value belongs to it", () => {
  assert.deepEqual(parseArguments("M=dict(a=1)", [{ name: "M" }]), { values: { M: "dict(a=1)" } });
});

test("a parameter with a default may be left out or left empty", () => {
  assert.deepEqual(parseArguments("M=1 N=2", MNK), { values: { M: "1", N: "2" } });
  assert.deepEqual(parseArguments("M=1 N=2 K=", MNK), { values: { M: "1", N: "2" } });
});

for (const [text, problem] of [
  ["", "M has no value yet."],
  ["M=1 N=", "N has no value yet."],
  ["M=1 N=2 L=3", "There is no parameter L; there are M, N, K."],
  ["M=1 M=2 N=3", "M is given twice."],
  ["1024", '"1024" is not of the form NAME=VALUE.'],
  ["=1", '"=1" is not of the form NAME=VALUE.'],
] as const) {
  test(`"${text}" is refused: ${problem}`, () => {
    assert.deepEqual(parseArguments(text, MNK), { problem });
  });
}

test("the box begins with what was given last, then the defaults, then gaps", () => {
  assert.equal(proposeArguments(MNK, { M: "1024" }), "M=1024 N= K=64");
  assert.equal(proposeArguments(MNK, { K: "128" }), "M= N= K=128");
});

test("the cursor begins in the first gap, or at the end", () => {
  assert.equal(firstGap("M=1024 N= K=64"), "M=1024 N=".length);
  assert.equal(firstGap("M=1 N="), "M=1 N=".length);
  assert.equal(firstGap("M=1 N=2"), "M=1 N=2".length);
});

test("only values that a builder does not have anyway are chosen", () => {
  const own = { M: "1", K: "128" };
  assert.deepEqual(differing({ M: "1", N: "2", K: "64" }, own, MNK), { N: "2", K: "64" });
  assert.deepEqual(differing({ M: "1", N: "2", K: "64" }, { M: "1" }, MNK), { N: "2" });
  assert.deepEqual(differing({}, own, MNK), {});
});

test("arguments are read as they are typed", () => {
  assert.equal(written({ M: "1", dtype: "float16" }), "M=1 dtype=float16");
});
