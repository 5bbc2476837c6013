import assert from "node:assert/strict";
import { rename } from "node:fs/promises";
import { KERNEL_PYTHON } from "./harness/editor";
import { eventually } from "./harness/eventually";
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

scenario(
  "a TVM that is installed while the user is elsewhere is noticed when the window has the focus again",
  {
    trust: "all",
    files: {
      "old.py": OLD,
      "venv/pyvenv.cfg": "version = 3.11.7\n",
      "venv/bin/python": `#!/bin/sh\nexec '${KERNEL_PYTHON}' "$@"\n`,
      "venv/lib/python3.11/site-packages/tvm/__init__.py": "",
      "venv/lib/python3.11/site-packages/apache_tvm-0.26.0.dist-info/METADATA": "",
    },
    machineSettings: { "tirx-lens.interpreter": ["${workspaceFolder}/venv/bin/python"] },
  },
  async (window, editor) => {
    const { page } = window;
    await window.openFile("old.py");
    await seesStatus(window, "TIRx Lens: TVM 0.26.0", "from the interpreter", "1-before");
    const site = editor.file("venv/lib/python3.11/site-packages");
    await rename(`${site}/apache_tvm-0.26.0.dist-info`, `${site}/apache_tvm-0.27.0.dist-info`);
    await page.keyboard.press("Control+Shift+M");
    const told = page.locator(".markers-panel .monaco-list-row", { hasText: "TX508" });
    await eventually("the other TVM is noticed", async () => {
      await page.evaluate(AWAY_AND_BACK);
      return (await told.count()) > 0;
    });
    await seesStatus(window, "TIRx Lens: TVM 0.27.0", "from the interpreter", "2-after");
  },
);

/** The window loses the focus, and has it again once VS Code may have seen that. */
const AWAY_AND_BACK = `new Promise((resolve) => {
  document.hasFocus = () => false;
  window.dispatchEvent(new Event("blur"));
  setTimeout(() => {
    document.hasFocus = () => true;
    window.dispatchEvent(new Event("focus"));
    resolve();
  }, 100);
})`;

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
