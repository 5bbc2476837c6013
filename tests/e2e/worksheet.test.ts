import assert from "node:assert/strict";
import type { FrameLocator } from "playwright-core";
import { kernel, lineOf } from "./harness/kernels";
import { scenario } from "./harness/scenario";
import type { Window } from "./harness/window";

const STEP7 = kernel("gemm_step7_warp_specialized.py");

/** The page inside the panel: a webview is a frame within a frame. */
function sheet(window: Window): FrameLocator {
  return window.page.frameLocator("iframe.webview.ready").frameLocator("iframe#active-frame");
}

scenario(
  "the worksheet of a kernel is shown beside it, links to its lines, and follows the text",
  { trust: "all", files: { "gemm.py": STEP7 } },
  async (window) => {
    const { page } = window;
    await window.openFile("gemm.py");
    await window.goToLine(lineOf(STEP7, "empty.wait(load.stage, load.phase)"));
    await window.command("TIRx Lens: Show Worksheet");
    await page.locator(".tab.active", { hasText: "Worksheet of gemm" }).waitFor();
    const tables = sheet(window);
    for (const title of ["Roles", "Storage", "Handoff", "Lifetime", "Skeleton"]) {
      await tables.locator("h3", { hasText: title }).waitFor();
    }
    const producer = tables.locator("tr", { hasText: "TMA producer" }).first();
    assert.match((await producer.innerText()).replace(/\s+/g, " "), /waits for empty 123 .*loads As, Bs by TMA 125, 131/);
    await window.picture("1-roles");

    // A link leads to its line, in the column of the source.
    const barrier = tables.locator("tr", { hasText: "full side, with empty" });
    await barrier.locator("a", { hasText: /^150$/ }).first().click();
    await page.locator(".statusbar-item", { hasText: "Ln 150, Col" }).waitFor();
    assert.equal(await page.locator(".editor-group-container").count(), 2);
    await window.picture("2-line");

    // The tables follow the text that is typed, saved or not.
    await window.replaceLine(lineOf(STEP7, "DEPTH = 4"), "DEPTH = 3");
    await tables.locator("tr", { hasText: "49,152 bytes" }).first().waitFor();
    await window.picture("3-followed");
    assert.deepEqual([...window.strangers], []);
  },
);
