import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { scenario } from "./harness/scenario";
import { eventually } from "./harness/eventually";
import { brokenKernel } from "./harness/kernels";

scenario(
  "a squiggle, its entry among the problems, its fix by keyboard, the file on disk",
  { trust: "all", files: { "broken.py": brokenKernel("TX102") } },
  async (window, editor) => {
    const { page } = window;
    const syncs = (): number => readFileSync(editor.file("broken.py"), "utf8").split("cta_sync()").length;
    const before = syncs();

    await window.openFile("broken.py");
    await page.keyboard.press("Control+Shift+M");
    const problem = page.locator(".markers-panel .monaco-list-row", { hasText: "cta_sync" }).first();
    await problem.waitFor();
    assert.match(await problem.innerText(), /TX102/);
    await window.goToProblem(problem);
    await page.waitForSelector(".monaco-editor .squiggly-error");
    await window.picture("1-problem");

    await window.quickFix("warpgroup_sync");
    await window.picture("2-quick-fix");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".monaco-editor .squiggly-error", { state: "detached" });
    await problem.waitFor({ state: "detached" });
    await window.picture("3-fixed");

    await window.save();
    await eventually("the fixed file is on disk", () => syncs() === before - 1);
    assert.deepEqual([...window.strangers], []);
  },
);
