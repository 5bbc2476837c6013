import assert from "node:assert/strict";
import { test } from "node:test";
import { Links } from "../src/cuda/links";
import type { Link } from "../src/protocol";

const URI = "file:///w/kernel.py";
const HELPER = "file:///w/helper.py";

function link(line: number, frames: readonly (readonly [string, number, number?])[], guessed = false): Link {
  const places = frames.map(([uri, first, last]) => ({ uri, line: first, endLine: last ?? first }));
  return { line, frames: places, via: guessed ? "next" : "statement", guessed };
}

const LINKS = new Links([
  link(10, [[URI, 2, 4]]),
  link(11, [[URI, 3]]),
  link(12, [[URI, 3]]),
  link(20, [[URI, 3]]), // unrolled: the same statement again
  link(21, [[URI, 3]], true),
  link(30, [[URI, 8], [HELPER, 5]]), // prettier-ignore
]);

test("a line of Python has the CUDA of the smallest statement on it, in regions", () => {
  assert.deepEqual(LINKS.cudaOf(URI, 3), [
    { first: 11, last: 12, guessed: false },
    { first: 20, last: 20, guessed: false },
    { first: 21, last: 21, guessed: true },
  ]);
  assert.deepEqual(LINKS.cudaOf(URI, 4), [{ first: 10, last: 10, guessed: false }]);
  assert.deepEqual(LINKS.cudaOf(URI, 5), []);
});

test("a line of an inlined helper and its call have the same CUDA", () => {
  assert.deepEqual(LINKS.cudaOf(HELPER, 5), LINKS.cudaOf(URI, 8));
  assert.deepEqual(LINKS.pythonOf(30), [
    { uri: URI, first: 8, last: 8, guessed: false },
    { uri: HELPER, first: 5, last: 5, guessed: false },
  ]);
  assert.deepEqual(LINKS.pythonOf(99), []);
});

test("links move with the lines behind an edit, and end where it touched their statement", () => {
  const longer = LINKS.edited(URI, { first: 0, last: 0, inserted: 2 });
  assert.deepEqual(longer.cudaOf(URI, 5), LINKS.cudaOf(URI, 3));
  assert.deepEqual(longer.cudaOf(HELPER, 5), LINKS.cudaOf(HELPER, 5));

  const joined = LINKS.edited(URI, { first: 3, last: 4, inserted: 0 });
  assert.deepEqual(joined.cudaOf(URI, 3), []);
  assert.deepEqual(joined.cudaOf(URI, 7), [{ first: 30, last: 30, guessed: false }]);

  const typed = LINKS.edited(URI, { first: 3, last: 3, inserted: 0 });
  assert.deepEqual(typed.cudaOf(URI, 3), LINKS.cudaOf(URI, 3));
});
