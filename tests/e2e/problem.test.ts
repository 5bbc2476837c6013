import assert from "node:assert/strict";
import type { FrameLocator } from "playwright-core";
import { kernel, lineOf } from "./harness/kernels";
import { scenario } from "./harness/scenario";
import type { Window } from "./harness/window";

const STEP7 = kernel("gemm_step7_warp_specialized.py");
const BROKEN = STEP7.replace("acc_empty.init(WRITEBACK)", "acc_empty.init(64)");

/** The page inside the panel: a webview is a frame within a frame. */
function sheet(window: Window): FrameLocator {
  return window.page.frameLocator("iframe.webview.ready").frameLocator("iframe#active-frame");
}

async function pick(window: Window, label: string): Promise<void> {
  await window.page.locator(".quick-input-list .monaco-list-row", { hasText: label }).first().click();
}

scenario(
  "a symptom leads to the kernel's own suspects, their links to its lines, and the page follows the text",
  { trust: "all", files: { "gemm.py": BROKEN } },
  async (window) => {
    const { page } = window;
    await window.openFile("gemm.py");
    const init = lineOf(BROKEN, "acc_empty.init(64)");
    await window.goToLine(lineOf(BROKEN, "empty.wait(load.stage, load.phase)"));
    await window.command("TIRx Lens: Find Suspects from a Symptom");
    await page.locator(".quick-input-list .monaco-list-row", { hasText: "Wrong rows" }).waitFor();
    await window.picture("1-symptoms");
    await pick(window, "Deadlock");
    await page.locator(".tab.active", { hasText: "Deadlock: gemm" }).waitFor();
    const guide = sheet(window);
    await guide.locator("h3", { hasText: "Found" }).waitFor();
    const first = guide.locator("ol li").first();
    assert.match(await first.innerText(), /`?acc_empty`? expects 64 arrivals/);
    assert.match(await guide.locator("body").innerText(), /128 come/);
    await window.picture("2-suspects");

    // A link leads to its line, in the column of the source.
    await first.locator("a", { hasText: new RegExp(`^${String(init)}$`) }).first().click();
    await page.locator(".statusbar-item", { hasText: `Ln ${String(init)}, Col` }).waitFor();
    assert.equal(await page.locator(".editor-group-container").count(), 2);

    // Mended, the same count is told as checked.
    await window.replaceLine(init, "        acc_empty.init(WRITEBACK)");
    await guide.locator("li", { hasText: "128 of 128 come" }).last().waitFor();
    await guide.locator("h3", { hasText: "Checked" }).waitFor();
    assert.equal(await guide.locator("h3", { hasText: "Found" }).count(), 0);
    await window.picture("3-mended");
    assert.deepEqual([...window.strangers], []);
  },
);

scenario(
  "a report of a problem is drafted in an untitled editor, without the workspace's paths",
  { trust: "all", files: { "gemm.py": BROKEN } },
  async (window) => {
    const { page } = window;
    await window.openFile("gemm.py");
    await window.goToLine(lineOf(BROKEN, "empty.wait(load.stage, load.phase)"));
    await window.command("TIRx Lens: Report a Problem with This Kernel");
    await pick(window, "Deadlock");
    await page.locator(".quick-input-list .monaco-list-row", { hasText: "Leave out paths and names" }).waitFor();
    await window.picture("1-names");
    await pick(window, "Leave out paths and names");
    await pick(window, "Read the text alone");
    await page.locator(".tab.active", { hasText: "Deadlock in TIRx kernel" }).waitFor();
    await page.locator(".view-line", { hasText: "Class of failure: deadlock." }).waitFor();
    // Nothing is written until its author saves it.
    await page.locator(".tab.active.dirty", { hasText: "Deadlock in TIRx kernel" }).waitFor();
    assert.equal(await page.locator(".tab", { hasText: "Deadlock in TIRx kernel" }).count(), 1);
    assert.equal(await window.page.locator(".editor-group-container").count(), 2);
    await window.picture("2-report");
    assert.deepEqual([...window.strangers], []);
  },
);
