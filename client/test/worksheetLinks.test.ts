import assert from "node:assert/strict";
import { test } from "node:test";
import { lineOfLink } from "../src/worksheetLinks";

test("a link of a worksheet names a file and a line", () => {
  assert.deepEqual(lineOfLink("/src/gemm.py#L12"), { path: "/src/gemm.py", line: 12 });
  assert.deepEqual(lineOfLink("/my%20work/%C3%A9%23.py#L1"), { path: "/my work/é#.py", line: 1 });
  assert.deepEqual(lineOfLink("C%3A/src/gemm.py#L3"), { path: "C:/src/gemm.py", line: 3 });
  assert.deepEqual(lineOfLink("/a.ipynb#C3L12"), { path: "/a.ipynb", line: 12, cell: 3 });
});

test("another link is not followed", () => {
  for (const href of ["https://example.org/", "#L3", "/a.py", "/a.py#L0", "/a.py#Lx", "/a%.py#L1", ""]) {
    assert.equal(lineOfLink(href), undefined);
  }
});
