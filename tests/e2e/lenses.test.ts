import { writeFile } from "node:fs/promises";
import type { Locator } from "playwright-core";
import { brokenKernel, kernel, lineOf } from "./harness/kernels";
import { scenario } from "./harness/scenario";
import type { Window } from "./harness/window";

const WHOLE = kernel("tma_ring_copy.py");
const RING = WHOLE.slice(WHOLE.indexOf("import tvm"), WHOLE.indexOf("def run_correctness"));
const BROKEN = brokenKernel("TX104");
const OTHER = BROKEN.slice(BROKEN.indexOf("# tirx-lens: args"))
  .replace("def ring_copy(", "def other(")
  .replace("ROWS=1024", "ROWS=2048");
/** A builder without a finding, and one with one. */
const BOTH = `${RING}\n\n${OTHER}`;
const STEP2 = kernel("gemm_step2_k_loop.py");

/** The lens with this text; texts are whole words of a row of them. */
function lens(window: Window, text: string): Locator {
  return window.group(0).locator(".codelens-decoration a", { hasText: text });
}

function row(window: Window, text: string): Locator {
  return window.page.locator(".quick-input-list .monaco-list-row", { hasText: text }).first();
}

scenario(
  "lenses over each builder open what they name, whatever the cursor is in",
  { trust: "all", files: { "ring.py": BOTH } },
  async (window) => {
    const { page } = window;
    await window.openFile("ring.py");
    await lens(window, "ROWS=1024, COLS=512 (from the comment)").waitFor();
    await window.picture("1-the-first-builder");
    await window.goToLine(lineOf(BOTH, "def other("));
    await lens(window, "ROWS=2048, COLS=512 (from the comment)").waitFor();
    const second = window.group(0).locator(".codelens-decoration", { hasText: "ROWS=2048" });
    await second.locator("a", { hasText: "1 finding" }).waitFor();
    await window.picture("2-the-second-with-findings");

    // The cursor stays in this builder, and the lenses of the other are those of the other.
    await page.mouse.move(700, 400);
    await page.mouse.wheel(0, -20_000);
    const first = window.group(0).locator(".codelens-decoration", { hasText: "ROWS=1024" });
    await first.locator("a", { hasText: "Worksheet" }).click();
    await page.locator(".tab", { hasText: "Worksheet of ring_copy" }).waitFor();
    await first.locator("a", { hasText: "Timeline" }).click();
    await page.locator(".tab", { hasText: "Timeline ring.py" }).waitFor();
    await window.picture("3-worksheet-and-timeline");
    await first.locator("a", { hasText: "Show CUDA" }).click();
    await window.group(1).locator(".tab", { hasText: "ring_copy ROWS=1024 COLS=512.cu" }).waitFor();
    await window.picture("4-cuda");

    // A finding is shown where it is.
    await window.focusGroup(0);
    await window.goToLine(lineOf(BOTH, "def other("));
    await second.locator("a", { hasText: "1 finding" }).click();
    await page.locator(".marker-widget").waitFor();
    await window.picture("5-a-finding");
  },
);

scenario(
  "arguments are changed by a click, count for all that is open, and are given back",
  { trust: "all", files: { "gemm.py": STEP2, ".vscode/settings.json": "{}" } },
  async (window, editor) => {
    const { page } = window;
    await window.openFile("gemm.py");
    await lens(window, "Show CUDA").click();
    const cuda = window.group(1);
    await cuda.locator(".tab", { hasText: "gemm M=128 N=128 K=256.cu" }).waitFor();
    await window.focusGroup(0);
    await lens(window, "K=256 (from the comment)").click();
    await row(window, "Type other values").waitFor();
    await window.picture("1-what-can-be-chosen");
    await row(window, "Type other values").click();
    const input = page.locator(".quick-input-widget input").first();
    await input.fill("M=128 N=128 K=512");
    await window.picture("2-typed");
    await input.press("Enter");
    await lens(window, "M=128, N=128, K=512 (chosen)").waitFor();
    await cuda.locator(".tab", { hasText: "gemm M=128 N=128 K=512.cu" }).waitFor();
    await window.picture("3-chosen");

    // Those of the workspace are there again when it is opened anew.
    await page.reload();
    await page.waitForSelector(".explorer-folders-view .monaco-list-row");
    await window.focusGroup(0);
    await lens(window, "M=128, N=128, K=512 (chosen)").waitFor();

    await window.command("TIRx Lens: Choose Arguments");
    await row(window, "the file's own").waitFor();
    await window.picture("4-the-way-back");
    await row(window, "the file's own").click();
    await lens(window, "M=128, N=128, K=256 (from the comment)").waitFor();
    await window.picture("5-the-files-own");

    // They can be turned off.
    await writeFile(editor.file(".vscode/settings.json"), '{ "tirx-lens.codeLens": false }');
    await lens(window, "Show CUDA").waitFor({ state: "detached" });
    await window.picture("6-off");
  },
);
