import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { Locator } from "playwright-core";
import { KERNEL_PYTHON } from "./harness/editor";
import { kernel, lineOf } from "./harness/kernels";
import { scenario } from "./harness/scenario";
import type { Window } from "./harness/window";

const STEP1 = kernel("gemm_step1_one_cta.py");

// Stands for the way to another machine: it leaves its process number, and can be cut.
const LINK = `#!/bin/sh
if [ -e bin/cut ]; then
  echo "link: no route to host" >&2
  exit 255
fi
echo $$ > bin/link.pid
exec "$@"
`;
const TABLE = `[tool.tirx-lens.targets.box]
launcher = "command"
argv = ["env", "-i", "PATH=/usr/bin:/bin", "bin/link"]
python = "${KERNEL_PYTHON}"
time_limit = 60
`;

// Trust in a workspace does not let it set what only the user's own settings may.
const PLANTED = JSON.stringify({ "tirx-lens.targets": { planted: { python: "bin/link" } } });

scenario(
  "a project's target builds once it is confirmed, and nothing is lost when its link is cut",
  {
    trust: "all",
    files: { "gemm.py": STEP1, "pyproject.toml": TABLE, "bin/link": LINK, ".vscode/settings.json": PLANTED },
    machineSettings: { "workbench.colorTheme": "Default Light Modern" },
  },
  async (window, editor) => {
    const { page } = window;
    const cuda = window.group(1);
    const kernelLine = cuda.locator(".view-line", { hasText: "__global__" }).first();
    const stale = cuda.locator(".codelens-decoration", { hasText: "stale:" }).first();
    const edit = async (text: string): Promise<void> => {
      await window.focusGroup(0);
      await window.replaceLine(lineOf(STEP1, "import tvm"), text);
    };
    await window.openFile("gemm.py");
    await window.goToLine(lineOf(STEP1, "T.device_entry()"));
    await window.checked("kernel");

    // Turning away from the question leaves everything as it was.
    await window.command("TIRx Lens: Choose Target");
    await row(window, "not confirmed").waitFor();
    await window.picture("1-which-target");
    assert.equal(await row(window, "planted").count(), 0);
    await row(window, "box").click();
    await dialog(window).filter({ hasText: '"bin/link"' }).waitFor();
    await window.picture("2-shown-in-full");
    await page.keyboard.press("Escape");
    await dialog(window).waitFor({ state: "detached" });
    await window.command("TIRx Lens: Choose Target");
    await row(window, "not confirmed").waitFor();
    await row(window, "box").click();
    await use(window);
    assert.ok(!existsSync(editor.file("bin/link.pid")), "choosing a target runs nothing");

    await window.command("TIRx Lens: Show Generated CUDA");
    await kernelLine.waitFor();
    assert.ok(existsSync(editor.file("bin/link.pid")), "the build did not go through the link");
    await window.picture("3-built-there");
    await page.locator('[id="status.languageStatus"]').click();
    const status = page.locator(".hover-language-status", { hasText: "target box" });
    await status.waitFor();
    await window.picture("3-status");
    await status.locator("a", { hasText: "Choose Target" }).click();
    await row(window, "confirmed").waitFor();
    await page.keyboard.press("Escape");
    await cuda.locator(".view-lines").first().click(); // the status goes when the mouse does
    await page.locator(".hover-language-status").waitFor({ state: "hidden" });

    await edit("import tvm  # edited");
    await stale.filter({ hasText: "gemm.py was edited since this was built" }).waitFor();
    await window.picture("4-edited");
    await window.save();
    await stale.waitFor({ state: "detached" });

    // The link is cut, worker and all. What was built last stays in view.
    writeFileSync(editor.file("bin/cut"), "");
    process.kill(Number(readFileSync(editor.file("bin/link.pid"), "utf8")), "SIGKILL");
    await edit("import tvm  # edited again");
    await window.save();
    await stale.filter({ hasText: /no route to host|link|command/ }).waitFor();
    const told = await window.notification("The CUDA shown is that of the last good build.");
    await kernelLine.waitFor();
    await window.picture("5-link-cut");
    rmSync(editor.file("bin/cut"));
    await window.pressIn(told, "Retry");
    await stale.waitFor({ state: "detached" });
    await window.picture("6-retried");

    // A target that has changed is shown anew before it is used.
    await window.focusGroup(0);
    await window.openFile("pyproject.toml");
    await window.replaceLine(lineOf(TABLE, "time_limit"), 'env = { EXTRA = "1" }');
    await window.save();
    rmSync(editor.file("bin/link.pid"));
    await window.group(0).locator(".tab", { hasText: "gemm.py" }).click();
    await window.command("TIRx Lens: Show Generated CUDA");
    await dialog(window).filter({ hasText: "EXTRA" }).waitFor();
    await window.picture("7-asked-again");
    assert.ok(!existsSync(editor.file("bin/link.pid")), "the changed target was used unasked");
    await use(window);
    await window.group(1).locator(".view-line", { hasText: "__global__" }).first().waitFor();

    await window.command("TIRx Lens: Check Targets");
    await page.locator(".tab.active", { hasText: "targets.txt" }).waitFor();
    await page.locator(".view-line", { hasText: /^box:/ }).first().waitFor();
    await window.picture("8-checked");
  },
);

function row(window: Window, text: string): Locator {
  return window.page.locator(".quick-input-list .monaco-list-row", { hasText: text }).first();
}

function dialog(window: Window): Locator {
  return window.page.locator(".monaco-dialog-box");
}

async function use(window: Window): Promise<void> {
  await dialog(window).locator(".monaco-button", { hasText: "Use These Targets" }).click();
  await dialog(window).waitFor({ state: "detached" });
}
