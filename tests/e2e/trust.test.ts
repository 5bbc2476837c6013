import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { KERNEL_PYTHON } from "./harness/editor";
import { eventually } from "./harness/eventually";
import { brokenKernel, kernel, lineOf } from "./harness/kernels";
import { scenario } from "./harness/scenario";

const BROKEN = brokenKernel("TX102");
const KERNEL_MARK = "kernel-was-run";
const INTERPRETER_MARK = "interpreter-was-run";

// A correct kernel whose module leaves a mark beside the workspace's file of that name when it is
// run, and an interpreter of the workspace's own that leaves one too.
const MARKING_KERNEL = `import os

open(os.environ["TIRX_LENS_MARKS"] + "/${KERNEL_MARK}", "w").close()

${kernel("gemm_step1_one_cta.py")}`;
const MARKING_INTERPRETER = `#!/bin/sh
TIRX_LENS_MARKS=$(dirname "$0")
export TIRX_LENS_MARKS
touch "$TIRX_LENS_MARKS/${INTERPRETER_MARK}"
exec "${KERNEL_PYTHON}" "$@"
`;

scenario(
  "an untrusted workspace is checked and nothing of it is executed",
  {
    trust: "ask",
    files: {
      "marking.py": MARKING_KERNEL,
      "broken.py": BROKEN,
      ".vscode/settings.json": JSON.stringify({
        "tirx-lens.interpreter": ["${workspaceFolder}/bin/python3"],
      }),
      "bin/python3": MARKING_INTERPRETER,
    },
  },
  async (window, editor) => {
    const { page } = window;
    const left = (mark: string): boolean => existsSync(editor.file(`bin/${mark}`));
    await page.locator(".statusbar-item", { hasText: "Restricted Mode" }).waitFor();
    await window.openFile("broken.py");
    await window.goToLine(lineOf(BROKEN, `${" ".repeat(12)}T.cuda.cta_sync()`));
    await page.waitForSelector(".monaco-editor .squiggly-error");
    await window.picture("1-checked-in-restricted-mode");

    await window.openFile("marking.py");
    await window.command("TIRx Lens: Show Generated CUDA");
    const refusal = await window.notification("This workspace is not trusted, so nothing was run");
    await window.picture("2-refused");
    assert.equal(await page.locator(".editor-group-container").count(), 1);
    assert.ok(!left(INTERPRETER_MARK), "the workspace's interpreter was run");
    assert.ok(!left(KERNEL_MARK), "the workspace's kernel was run");

    await window.pressIn(refusal, "Manage Workspace Trust");
    await page.locator(".workspace-trust-editor .monaco-button", { hasText: "Trust" }).first().click();
    await eventually("the trusted workspace's interpreter is used", () => left(INTERPRETER_MARK));
    await page.keyboard.press("Control+w");
    await window.openFile("marking.py");
    await window.command("TIRx Lens: Show Generated CUDA");
    await window.group(1).locator(".view-line", { hasText: "__global__" }).first().waitFor();
    // The marks show that this test would have seen them.
    assert.ok(left(KERNEL_MARK), "the trusted workspace's kernel left no mark");
    await window.picture("3-trusted");
  },
);
