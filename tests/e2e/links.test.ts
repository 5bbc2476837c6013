import assert from "node:assert/strict";
import { scenario } from "./harness/scenario";
import { kernel, lineOf } from "./harness/kernels";
import { eventually } from "./harness/eventually";

const STEP7 = kernel("gemm_step7_warp_specialized.py");
const WAIT = lineOf(STEP7, "empty.wait(load.stage, load.phase)");

scenario(
  "the cursor in a kernel and in its CUDA mark each other's lines",
  { trust: "all", files: { "gemm.py": STEP7 } },
  async (window) => {
    const { page } = window;
    await window.openFile("gemm.py");
    await window.goToLine(WAIT);
    await window.command("TIRx Lens: Show Generated CUDA");
    const cuda = window.group(1);

    // From Python to CUDA: the line with the wait comes into view, marked, and the keyboard stays.
    await cuda.locator(".view-line", { hasText: "tvm_builtin_cuda_mbarrier_wait" }).first().waitFor();
    await marked(cuda, 1);
    await page.locator(".editor-group-container.active .tab.active", { hasText: "gemm.py" }).waitFor();
    await window.picture("1-from-python");

    // Many lines for one statement.
    await window.goToLine(lineOf(STEP7, "load.advance()"));
    await eventually("five lines are marked", async () => (await count(cuda)) >= 5);

    // From CUDA to Python.
    await window.find(cuda, "tcgen05_mma_ss");
    const python = window.group(0);
    await python.locator(".view-line", { hasText: "Tx.gemm_async(" }).first().waitFor();
    await eventually("the multiplication is marked", async () => (await count(python)) > 0);
    await window.picture("2-from-cuda");

    // The helpers are folded away.
    await page.keyboard.press("Control+Home");
    await cuda.locator(".margin-view-overlays .codicon-folding-collapsed").first().waitFor();
    await cuda.locator(".view-line", { hasText: "__global__" }).first().waitFor();
    await window.picture("3-folded");
    await window.find(cuda, "tcgen05_mma_ss");

    // The outline has the landmarks under the threads that reach them.
    await page.keyboard.press("Control+Shift+O");
    const symbols = page.locator(".quick-input-list .monaco-list-row");
    await symbols.filter({ hasText: "warp 3 of warpgroup 1" }).first().waitFor();
    await window.picture("4-outline");
    await page.keyboard.press("Escape");

    // A hover on a helper shows the PTX it wraps, and where the line came from.
    await cuda.locator(".view-line span", { hasText: "tvm_builtin_ptx_tcgen05_mma_ss" }).first().hover();
    const hover = page.locator(".monaco-hover-content").filter({ hasText: "tcgen05.mma.cta_group::1.kind::f16" });
    await hover.first().waitFor();
    await hover.filter({ hasText: `gemm.py:${lineOf(STEP7, "Tx.gemm_async(")}` }).first().waitFor();
    await window.picture("5-hover");
    assert.equal(await page.locator(".tab.dirty").count(), 0);
  },
);

scenario(
  "two builds of a kernel are compared",
  { trust: "all", files: { "gemm.py": STEP7 } },
  async (window) => {
    const { page } = window;
    await window.openFile("gemm.py");
    await window.command("TIRx Lens: Show Generated CUDA");
    const cuda = window.group(1);
    await cuda.locator(".view-line", { hasText: "__global__" }).first().waitFor();
    await window.replaceLine(lineOf(STEP7, "DEPTH = 4"), "DEPTH = 3");
    await window.save();
    await window.find(cuda, "load_stage_ptr[0] == 3");
    await window.command("TIRx Lens: Compare with Previous Build");
    await page.locator(".tab.active", { hasText: "previous build" }).waitFor();
    await page.locator(".monaco-diff-editor .line-insert, .monaco-diff-editor .char-insert").first().waitFor();
    await window.picture("1-compared");
  },
);

scenario(
  "PTX and SASS in tabs of their own, linked to the kernel",
  { trust: "all", files: { "gemm.py": STEP7 } },
  async (window) => {
    const { page } = window;
    await window.openFile("gemm.py");
    await window.goToLine(WAIT);
    await window.command("TIRx Lens: Show SASS");
    const code = window.group(1);
    await code.locator(".tab.active", { hasText: ".sass" }).waitFor();
    await code.locator(".view-line", { hasText: "SYNCS" }).first().waitFor();
    await window.focusGroup(0);
    await window.goToLine(lineOf(STEP7, "Tx.gemm_async("));
    await marked(code, 5);
    await window.picture("1-sass");

    // From an instruction back to its Python.
    await window.find(code, "UTMALDG");
    await window.group(0).locator(".view-line", { hasText: "Tx.copy_async(" }).first().waitFor();
    await eventually("the copy is marked", async () => (await count(window.group(0))) > 0);

    // The resource report: a hint behind the kernel's head, and every figure in the panel.
    const hint = page.locator(".view-line", { hasText: /regs.·.145.KiB.·.128.cols.·.1.CTA.SM/ });
    await window.focusGroup(0);
    await window.goToLine(lineOf(STEP7, "def kernel("));
    await hint.first().waitFor();
    await page.locator(".pane-header", { hasText: "Kernel Resources" }).click();
    await page.locator(".monaco-list-row", { hasText: /registers per thread: \d+ of 255/ }).first().waitFor();
    await window.picture("2-resources");

    await window.command("TIRx Lens: Show PTX");
    await code.locator(".tab.active", { hasText: ".ptx" }).waitFor();
    await window.picture("3-ptx");
  },
);

async function count(group: import("playwright-core").Locator): Promise<number> {
  return group.locator(".view-overlays [class*='ced-']").count();
}

async function marked(group: import("playwright-core").Locator, least: number): Promise<void> {
  await eventually(`${least} lines are marked`, async () => (await count(group)) >= least);
}
