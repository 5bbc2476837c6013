import assert from "node:assert/strict";
import type { Locator } from "playwright-core";
import { eventually } from "./harness/eventually";
import { scenario } from "./harness/scenario";
import type { Window } from "./harness/window";

const ID = "tirx-lens.tirx-lens#start";

function step(window: Window, id: string): Locator {
  return window.page.locator(`.getting-started-step[data-step-id="${ID}#${id}"]`);
}

async function isDone(window: Window, id: string): Promise<void> {
  await step(window, id).locator(".codicon-getting-started-step-checked, .codicon.complete").first().waitFor();
}

/** Open a step of the walkthrough and press one of its buttons. */
async function press(window: Window, id: string, button: string): Promise<void> {
  const title = step(window, id);
  if ((await title.getAttribute("aria-expanded")) !== "true" && !(await title.evaluate(`(e) => e.classList.contains("expanded")`))) {
    await title.locator(".step-title").first().click();
  }
  await title.locator(".monaco-button", { hasText: button }).first().click();
}

async function backToWalkthrough(window: Window): Promise<void> {
  await window.focusGroup(0);
  await window.command("TIRx Lens: Get Started");
  await window.page.locator(".gettingStartedContainer .getting-started-step").first().waitFor();
}

scenario(
  "a newcomer is led from the sample's mistake to its CUDA and its timeline",
  { trust: "all", files: { "kernel.py": "from tvm.script import tirx as T\n\n" } },
  async (window) => {
    const { page } = window;
    await window.openFile("kernel.py");
    await page.locator(".editor-actions [aria-label^='Show Generated CUDA']").first().waitFor(); // the extension is there
    await window.command("TIRx Lens: Get Started");
    await page.locator(".gettingStartedContainer", { hasText: "Choose the Python that has TVM" }).first().waitFor();
    assert.equal(await page.locator(".getting-started-step").count(), 6);
    for (const [theme, kind] of [
      ["Light Modern", "vs"],
      ["Dark High Contrast", "hc-black"],
      ["Dark Modern", "vs-dark"],
    ] as const) {
      await window.chooseTheme(theme);
      await page.locator(`.monaco-workbench.${kind}`).first().waitFor();
      await eventually("its picture is there", async () => {
        const counts = page.frames().map((frame) => frame.locator("svg text", { hasText: "with TVM" }).count());
        return (await Promise.all(counts.map((count) => count.catch(() => 0)))).some((count) => count > 0);
      });
      await window.picture(`1-${kind}`);
    }

    // The mistake, and its fix.
    await press(window, "finding", "Open the Sample");
    await page.locator(".tab.active", { hasText: "ring_copy.py" }).waitFor();
    await page.locator(".squiggly-error").first().waitFor();
    await window.picture("2-sample");
    await page.keyboard.press("F8");
    await page.keyboard.press("Escape");
    await window.chooseQuickFix("Synchronise warpgroup 0 only", page.locator(".squiggly-error").first(), "detached");
    await window.save();
    await backToWalkthrough(window);
    await isDone(window, "finding");

    // Its CUDA.
    await press(window, "cuda", "Show the CUDA");
    await page.locator(".view-line", { hasText: "__global__" }).first().waitFor();
    await window.picture("3-cuda");
    await backToWalkthrough(window);
    await isDone(window, "cuda");
    await isDone(window, "interpreter"); // the build has said which TVM it is

    await press(window, "handoffs", "Show the Timeline");
    await page.locator(".tab", { hasText: "Timeline ring_copy.py" }).first().waitFor();
    await backToWalkthrough(window);
    await isDone(window, "handoffs");
    await window.picture("4-done");
  },
);

scenario(
  "a shape of a kernel is completed with the imports that it needs",
  { trust: "all", files: { "kernel.py": "from tvm.script import tirx as T\n\n" } },
  async (window) => {
    const { page } = window;
    await window.openFile("kernel.py");
    await page.keyboard.press("Control+End");
    await page.keyboard.type("tirx_g");
    const row = page.locator(".suggest-widget.visible .monaco-list-row", { hasText: "tirx_gemm" });
    await eventually("it is offered, once the server runs", async () => {
      if ((await row.count()) === 0) {
        await page.keyboard.press("Escape");
        await page.keyboard.press("Control+Space");
        await row.first().waitFor({ timeout: 3_000 }).catch(() => undefined);
      }
      return (await row.count()) > 0;
    });
    await window.picture("1-offered");
    await page.keyboard.press("Tab");
    await page.locator(".view-line", { hasText: /import.MBarrier,.PipelineState,.TCGen05Bar,.TMABar/ }).first().waitFor();
    await window.picture("2-inserted");
    await window.goToLine(28); // T.device_entry()
    await window.checked("kernel");
    await window.command("TIRx Lens: Show Timeline");
    await eventually("it runs to its end", async () => {
      const texts = await Promise.all(
        page.frames().map((frame) => frame.locator("strong.good").allInnerTexts().catch(() => [])),
      );
      return texts.flat().some((text) => text.includes("Runs to its end"));
    });
    assert.equal(await page.locator(".squiggly-error, .squiggly-warning").count(), 0);
    await window.picture("3-timeline");
  },
);
