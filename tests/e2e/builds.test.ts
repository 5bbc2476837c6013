import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import type { Locator } from "playwright-core";
import { kernel, lineOf } from "./harness/kernels";
import { scenario } from "./harness/scenario";
import type { Window } from "./harness/window";

const STEP1 = kernel("gemm_step1_one_cta.py");
const LOAD = STEP1.split("\n")[lineOf(STEP1, 'dispatch="tmem<->local"') - 1] ?? "";
const ARGUMENTS = "# tirx-lens: args M=128 N=128 K=64";

scenario(
  "a save builds where that was turned on, and the whole message is one click away",
  { trust: "all", files: { "gemm.py": STEP1 }, machineSettings: { "tirx-lens.build.onSave": true } },
  async (window) => {
    const { page } = window;
    await window.openFile("gemm.py");
    const line = lineOf(STEP1, LOAD);
    await window.goToLine(line);
    await window.checked("kernel"); // a save before there is a server is not heard of
    await window.replaceLine(line, LOAD.replace(" acc[:, :]", " D[:, :]"));
    await window.save();
    await page.waitForSelector(".monaco-editor .squiggly-error");
    assert.deepEqual(await squiggledLines(window), [line]);
    await page.keyboard.press("Control+Shift+M");
    await problem(window, "copy_async cannot be lowered here: tmem<->local rejected it").waitFor();
    await problem(window, "TX503").waitFor();
    await window.picture("1-what-tvm-said");

    await window.focusGroup(0);
    await window.goToLine(line);
    await window.quickFix("Show whole message");
    await window.picture("2-quick-fix");
    const whole = page.locator(".tab.active", { hasText: "gemm.py TX503.txt" });
    await window.chooseQuickFix("Show whole message", whole);
    await page.locator(".view-line", { hasText: "Traceback (most recent call last):" }).waitFor();
    await page.locator(".statusbar-item", { hasText: "Plain Text" }).waitFor();
    await page.keyboard.type("x");
    await page.locator(".monaco-editor-overlaymessage", { hasText: "read-only" }).waitFor();
    await window.picture("3-whole-message");
    assert.equal(await page.locator(".tab.dirty").count(), 0);
    await page.keyboard.press("Control+w");

    // A good build takes it away; the next fault is of another kind, and in plain Python.
    await window.openFile("gemm.py");
    await window.replaceLine(line, LOAD);
    await window.save();
    await problem(window, "TX503").waitFor({ state: "detached" });
    await window.replaceLine(lineOf(STEP1, ARGUMENTS), ARGUMENTS.replace("K=64", "K=65"));
    await window.save();
    await problem(window, "one tile is 128 x 128 x 64, not 128 x 128 x 65").waitFor();
    await problem(window, "TX506").waitFor();
    await window.goToLine(lineOf(STEP1, "raise ValueError"));
    assert.deepEqual(await squiggledLines(window), [lineOf(STEP1, "raise ValueError")]);
    await window.picture("4-another-fault");
  },
);

const MARK = "was-run";
const MARKING = STEP1.replace("import tvm\n", `import tvm\n\nopen(__file__ + ".${MARK}", "w").close()\n`);

scenario(
  "a save builds nothing where that was not turned on",
  { trust: "all", files: { "gemm.py": MARKING } },
  async (window, editor) => {
    const { page } = window;
    const wasRun = (): boolean => existsSync(editor.file(`gemm.py.${MARK}`));
    await window.openFile("gemm.py");
    const sync = lineOf(MARKING, "if wg_id == 0:") + 1;
    await window.goToLine(sync);
    await window.checked("kernel");
    await window.replaceLine(sync, "            T.cuda.cta_sync()");
    await window.save();
    await page.waitForSelector(".monaco-editor .squiggly-error");
    await pause(5_000); // a build would have run the module by then, as the other scenario shows
    assert.ok(!wasRun(), "the kernel's module was run on a save");
    await window.picture("1-nothing-was-built");
  },
);

function problem(window: Window, text: string): Locator {
  return window.page.locator(".markers-panel .monaco-list-row", { hasText: text }).first();
}

/** The numbers of the lines in view that have an error's squiggle. */
async function squiggledLines(window: Window): Promise<readonly number[]> {
  const editor = window.page.locator(".editor-group-container.active .monaco-editor").first();
  const numbers = new Map<number, number>();
  for (const one of await editor.locator(".line-numbers").all()) {
    const box = await one.boundingBox();
    if (box !== null) {
      numbers.set(Math.round(box.y), Number(await one.textContent()));
    }
  }
  const found = new Set<number>();
  for (const one of await editor.locator(".squiggly-error").all()) {
    const box = await one.boundingBox();
    const [top] = [...numbers.keys()].filter((y) => box !== null && Math.abs(y - box.y) < 6);
    if (top !== undefined) {
      found.add(numbers.get(top) ?? 0);
    }
  }
  return [...found];
}
