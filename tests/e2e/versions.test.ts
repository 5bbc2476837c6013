import assert from "node:assert/strict";
import { KERNEL_PYTHON } from "./harness/editor";
import { kernel } from "./harness/kernels";
import { scenario } from "./harness/scenario";
import type { Window } from "./harness/window";

const NEW = kernel("tma_ring_copy.py");
const OLD = kernel("v0_26/tma_ring_copy.py");

scenario(
  "the status says which TVM a file is held against, and who says so",
  {
    trust: "all",
    files: { "new.py": NEW, "old.py": OLD, "pyproject.toml": "[tool.tirx-lens]\n" },
    machineSettings: { "workbench.colorTheme": "Default Light Modern" },
  },
  async (window) => {
    const { page } = window;
    await window.openFile("new.py");
    await seesStatus(window, "TIRx Lens: TVM 0.27", `from the interpreter ${KERNEL_PYTHON}`, "1-interpreter");

    // One that is written for 0.26 is told of so once, with all its calls as the fix.
    await window.openFile("old.py");
    await seesStatus(window, "TIRx Lens: TVM 0.27", "the file is spelled for 0.26 or older", "2-spelled-otherwise");
    await page.keyboard.press("Control+Shift+M");
    const told = page.locator(".markers-panel .monaco-list-row", { hasText: "This kernel is written for TVM 0.26" });
    await told.first().waitFor();
    assert.equal(await page.locator(".markers-panel .monaco-list-row", { hasText: "TX508" }).count(), 1);
    await window.picture("3-told-once");

    await window.openFile("pyproject.toml");
    await page.keyboard.press("Control+End");
    await page.keyboard.type('tvm-version = "0.26"\n');
    await window.save();
    await window.group(0).locator(".tab", { hasText: "old.py" }).click();
    await told.first().waitFor({ state: "detached" });
    await seesStatus(window, "TIRx Lens: TVM 0.26", "from tvm-version in pyproject.toml; 0.27", "4-configured");
  },
);

/** Open the language status, as a user does, and look at what it says of the file in front. */
async function seesStatus(window: Window, title: string, detail: string, picture: string): Promise<void> {
  const { page } = window;
  await page.locator('[id="status.languageStatus"]').click();
  const status = page.locator(".hover-language-status", { hasText: title }).filter({ hasText: detail });
  await status.first().waitFor();
  await window.picture(picture);
  await page.locator(".editor-group-container.active .view-lines").first().click(); // it goes when the mouse does
  await page.locator(".hover-language-status").first().waitFor({ state: "hidden" });
}
