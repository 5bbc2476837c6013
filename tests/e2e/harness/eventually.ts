import { setTimeout as pause } from "node:timers/promises";

/** Wait until `condition` holds; the error after the limit says what was waited for. */
export async function eventually(
  what: string,
  condition: () => boolean | Promise<boolean>,
  limitMs = 60_000,
): Promise<void> {
  const deadline = Date.now() + limitMs;
  while (!(await condition())) {
    if (Date.now() > deadline) {
      throw new Error(`waited ${limitMs / 1000} s in vain: ${what}`);
    }
    await pause(50);
  }
}
