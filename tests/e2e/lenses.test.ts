import type { Locator } from "playwright-core";
import { kernel, lineOf } from "./harness/kernels";
import { scenario } from "./harness/scenario";
import type { Window } from "./harness/window";

const ARGUMENTS = "# tirx-lens: args M=128 N=128 K=256";
const STEP2 = kernel("gemm_step2_k_loop.py").split("def run_correctness", 1)[0] ?? "";
const BUILDER = STEP2.slice(STEP2.indexOf("def gemm("));
const BOTH = `${STEP2}

# tirx-lens: args M=256 N=128 K=100
${BUILDER.replace("def gemm(", "def other(")}`;

/** The lens with this text; texts are whole words of a row of them. */
function lens(window: Window, text: string): Locator {
  return window.group(0).locator(".codelens-decoration a", { hasText: text });
}

function row(window: Window, text: string): Locator {
  return window.page.locator(".quick-input-list .monaco-list-row", { hasText: text }).first();
}

scenario(
  "lenses over each builder open what they name, whatever the cursor is in",
  { trust: "all", files: { "gemm.py": BOTH, "plain.py": "x = 1\n" } },
  async (window) => {
    const { page } = window;
    await window.openFile("gemm.py");
    await lens(window, "M=128, N=128, K=256 (from the comment)").waitFor();
    await window.picture("1-the-first-builder");
    await window.goToLine(lineOf(BOTH, "def other("));
    await lens(window, "M=256, N=128, K=100 (from the comment)").waitFor();
    const second = window.group(0).locator(".codelens-decoration", { hasText: "K=100" });
    await second.locator("a", { hasText: /^\d+ findings?$/ }).waitFor();
    await window.picture("2-the-second-with-findings");

    // The cursor is in the other builder now; the lenses of the first are those of the first.
    await window.goToLine(lineOf(BOTH, ARGUMENTS));
    const first = window.group(0).locator(".codelens-decoration", { hasText: "K=256" });
    await window.goToLine(lineOf(BOTH, "def other("));
    await window.goToLine(lineOf(BOTH, "def other("));
    await second.locator("a", { hasText: "Worksheet" }).click();
    await page.locator(".tab.active", { hasText: "Worksheet of other" }).waitFor();
    await window.focusGroup(0);
    await window.goToLine(lineOf(BOTH, ARGUMENTS));
    await second.locator("a", { hasText: "Worksheet" }).waitFor({ state: "detached" });
    await first.locator("a", { hasText: "Timeline" }).click();
    await page.locator(".tab", { hasText: "Timeline gemm.py" }).waitFor();
    await window.picture("3-worksheet-and-timeline");
    await window.focusGroup(0);
    await first.locator("a", { hasText: "Show CUDA" }).click();
    await window.group(1).locator(".tab", { hasText: "gemm M=128 N=128 K=256.cu" }).waitFor();
    await window.picture("4-cuda");

    // A finding is shown where it is.
    await window.focusGroup(0);
    await window.goToLine(lineOf(BOTH, "def other("));
    await second.locator("a", { hasText: /^\d+ findings?$/ }).click();
    await page.locator(".marker-widget").waitFor();
    await window.picture("5-a-finding");
  },
);

scenario(
  "arguments are changed by a click, count for all that is open, and are given back",
  { trust: "all", files: { "gemm.py": STEP2 } },
  async (window) => {
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
    await page.evaluate(() => undefined);
    await window.command("Preferences: Open User Settings (JSON)");
    await page.locator(".tab.active", { hasText: "settings.json" }).waitFor();
    await page.locator(".editor-group-container.active .view-lines").first().click();
    await page.keyboard.press("Control+A");
    await page.keyboard.insertText('{ "tirx-lens.codeLens": false }');
    await window.save();
    await lens(window, "Show CUDA").waitFor({ state: "detached" });
    await window.picture("6-off");
  },
);
