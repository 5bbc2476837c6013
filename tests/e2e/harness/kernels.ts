/** The repository's kernels, as texts for a workspace. */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { ROOT } from "./editor";

const KERNELS = path.join(ROOT, "kernels");

/** A correct kernel by its file name. */
export function kernel(name: string): string {
  return readFileSync(path.join(KERNELS, name), "utf8");
}

/** The kernel that breaks a rule. */
export function brokenKernel(code: string): string {
  const folder = path.join(KERNELS, "broken");
  const name = readdirSync(folder).find((each) => each.startsWith(code.toLowerCase()));
  if (name === undefined) {
    throw new Error(`kernels/broken has no file for ${code}`);
  }
  return readFileSync(path.join(folder, name), "utf8");
}

/** The number, from 1, of the first line that contains a text. */
export function lineOf(source: string, text: string): number {
  const index = source.split("\n").findIndex((line) => line.includes(text));
  if (index < 0) {
    throw new Error(`no line contains ${text}`);
  }
  return index + 1;
}
