import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";

const ROOT = process.env.TIRX_LENS_ROOT ?? process.cwd();

for (const file of ["package-lock.json", "dev/vscode/package-lock.json"]) {
  test(`${file} names no registry and pins every package by its digest`, () => {
    const { packages } = JSON.parse(readFileSync(path.join(ROOT, file), "utf8")) as {
      packages: Record<string, { resolved?: string; integrity?: string; inBundle?: boolean }>;
    };
    const entries = Object.entries(packages).filter(([name]) => name !== "");
    assert.ok(entries.length > 0);
    for (const [name, entry] of entries) {
      assert.equal(entry.resolved, undefined, name);
      assert.ok(entry.inBundle === true || entry.integrity?.startsWith("sha512-"), name);
    }
  });
}
