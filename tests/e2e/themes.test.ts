import assert from "node:assert/strict";
import type { Frame } from "playwright-core";
import { contrasts, onMarkedLines, type Read } from "./harness/contrast";
import { eventually } from "./harness/eventually";
import { brokenKernel, lineOf } from "./harness/kernels";
import { scenario } from "./harness/scenario";
import type { Window } from "./harness/window";

const BROKEN = brokenKernel("TX102");
/** Each kind of theme, and the least contrast of text in it: WCAG's level AA, and AAA for high contrast. */
const THEMES = [
  ["Dark Modern", "vscode-dark", 4.5],
  ["Light Modern", "vscode-light", 4.5],
  ["Dark High Contrast", "vscode-high-contrast", 7],
  ["Light High Contrast", "vscode-high-contrast-light", 7],
] as const;

/** The document of the webview that is in front, whose body has a class. */
async function frameWith(window: Window, selector: string): Promise<Frame> {
  const found: Frame[] = [];
  await eventually(`a frame has ${selector}`, async () => {
    for (const frame of window.page.frames()) {
      if ((await frame.locator(selector).count().catch(() => 0)) > 0) {
        found.push(frame);
      }
    }
    return found.length > 0;
  });
  const [frame] = found;
  assert.ok(frame !== undefined);
  return frame;
}

function assertReadable(what: string, read: readonly Read[], least: number): void {
  assert.ok(read.length > 3, `${what}: there is text`);
  const poor = read.filter(({ ratio }) => ratio < least);
  assert.deepEqual(poor.slice(0, 8), [], `${what}: contrast below ${least}`);
}

scenario(
  "what is shown of a broken kernel can be read in every kind of theme",
  { trust: "all", files: { "gemm.py": BROKEN } },
  async (window) => {
    const { page } = window;
    await window.openFile("gemm.py");
    await window.goToLine(lineOf(BROKEN, "T.ptx.fence.proxy.async_.shared__cta()"));
    await page.locator(".squiggly-error").first().waitFor();
    await window.command("TIRx Lens: Show Generated CUDA");
    const cuda = window.group(1);
    await eventually("a line of the CUDA is marked", async () => (await cuda.locator(MARKED).count()) > 0);
    const problems: string[] = [];
    const check = (what: string, read: readonly Read[], least: number): void => {
      try {
        assertReadable(what, read, least);
      } catch (error) {
        problems.push(error instanceof Error ? error.message : String(error));
      }
    };
    for (const [theme, kind, least] of THEMES) {
      await window.chooseTheme(theme);
      await window.focusGroup(0);
      // What the theme itself makes hard to read, we may only make a little harder.
      const words = await onMarkedLines(page, 1, MARKED);
      assert.ok(words.length > 0);
      const poor = words.filter(({ ratio, without }) => ratio < Math.min(least, 0.8 * without));
      problems.push(...poor.map((word) => `${theme}, linked lines: ${JSON.stringify(word)}`));
      await window.picture(`1-cuda-${kind}`);
    }
    await window.command("TIRx Lens: Show Timeline");
    await frameWith(window, "strong.bad");
    for (const [theme, kind, least] of THEMES) {
      await window.chooseTheme(theme);
      const frame = await frameWith(window, `body.${kind} .timeline, body.${kind} .chart`);
      await eventually("its colours are those of the theme", () => coloured(frame, page));
      check(`${theme}, timeline`, await contrasts(frame), least);
      await window.picture(`2-timeline-${kind}`);
    }
    await window.focusGroup(0);
    await window.command("TIRx Lens: Show Worksheet");
    for (const [theme, kind, least] of THEMES) {
      await window.chooseTheme(theme);
      const frame = await frameWith(window, `body.${kind} h3`);
      await eventually("its colours are those of the theme", () => coloured(frame, page));
      check(`${theme}, worksheet`, await contrasts(frame), least);
      await window.picture(`3-worksheet-${kind}`);
    }
    assert.equal(problems.join("\n"), "");
  },
);

const MARKED = ".view-overlays [class*='ced-']";

/** Tell whether a webview has the background that the editor beside it has. */
async function coloured(frame: Frame, page: Window["page"]): Promise<boolean> {
  const ask = (root: string): string =>
    `getComputedStyle(document.querySelector("${root}")).getPropertyValue("--vscode-editor-background").trim()`;
  return (await frame.evaluate<string>(ask("html"))) === (await page.evaluate<string>(ask(".monaco-workbench")));
}
