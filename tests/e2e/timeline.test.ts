import assert from "node:assert/strict";
import type { FrameLocator, Locator } from "playwright-core";
import { eventually } from "./harness/eventually";
import { brokenKernel, kernel, lineOf } from "./harness/kernels";
import { scenario } from "./harness/scenario";
import type { Window } from "./harness/window";

const STEP7 = kernel("gemm_step7_warp_specialized.py");
const WAIT = lineOf(STEP7, "empty.wait(load.stage, load.phase)");
const DEADLOCK = brokenKernel("TX107");
const RACE = brokenKernel("TX309");

/** The document inside the webview. */
function view(window: Window): FrameLocator {
  return window.page.frameLocator("iframe.webview.ready").frameLocator("#active-frame");
}

function bars(window: Window, kind: string): Locator {
  return view(window).locator(`g.bar.kind-${kind}`);
}

/** Only the editor was asked for anything; it serves files of webviews itself, under this name. */
function assertNoStrangers({ strangers }: Window): void {
  assert.deepEqual([...strangers].filter((host) => !host.endsWith(".vscode-resource.vscode-cdn.net")), []);
}

/** A property of the first part of a blocked bar, as the browser computes it. */
async function styleOf(blocked: Locator, part: string, property: string): Promise<unknown> {
  return blocked.evaluate(`getComputedStyle(document.querySelector("g.kind-blocked ${part}")).${property}`);
}

scenario(
  "the timeline of a kernel beside it, linked both ways",
  { trust: "ask", files: { "gemm.py": STEP7 } },
  async (window) => {
    const { page } = window;
    await page.locator(".statusbar-item", { hasText: "Restricted Mode" }).waitFor();
    await window.openFile("gemm.py");
    await window.goToLine(WAIT);
    await window.command("TIRx Lens: Show Timeline");
    const timeline = view(window);
    await timeline.locator("strong.good", { hasText: "Runs to its end (8 roles, 578 events)" }).waitFor();

    // The cursor is at a wait: its events are marked.
    const here = timeline.locator("g.bar.here");
    await here.first().waitFor();
    assert.match((await here.first().getAttribute("aria-label")) ?? "", /wait at empty\[\d\]/);
    await window.picture("1-beside");
    for (const [theme, kind] of [
      ["Dark Modern", "vscode-dark"],
      ["Dark High Contrast", "vscode-high-contrast"],
      ["Light Modern", "vscode-light"],
    ] as const) {
      await window.chooseTheme(theme);
      await timeline.locator(`body.${kind}`).waitFor();
      await window.picture(`1-${kind}`);
    }

    // A click on an event shows its line; the keyboard goes on from there, and Enter takes it along.
    await bars(window, "mma").first().click();
    const gemm = lineOf(STEP7, "Tx.gemm_async(");
    await window.group(0).locator(".active-line-number", { hasText: String(gemm) }).waitFor();
    await timeline.locator(".said", { hasText: "started an MMA into acc" }).waitFor();
    await page.keyboard.press("ArrowRight");
    await timeline.locator(".said", { hasText: "committed its MMAs to empty[0]" }).waitFor();
    await page.keyboard.press("]");
    await timeline.locator(".said", { hasText: "The MMAs committed by" }).waitFor();
    await page.keyboard.press("]");
    await timeline.locator(".said", { hasText: "passed the wait at empty[0]: phase 0 was over" }).waitFor();
    await window.picture("2-followed-a-handoff");
    await page.keyboard.press("Enter");
    await page.locator(".statusbar-item", { hasText: `Ln ${WAIT}, Col` }).waitFor();
    await page.locator(".monaco-editor.focused").waitFor();

    // Its head stays while the text cannot be read, and says so; then it follows.
    const depth = lineOf(STEP7, "DEPTH = 4");
    await window.replaceLine(depth, "DEPTH = 4 +");
    await timeline.locator(".notice", { hasText: "Older than the text" }).waitFor();
    await window.picture("3-older");
    await window.replaceLine(depth, "DEPTH = 3");
    await timeline.locator(".label.barrier", { hasText: "full[3]" }).waitFor({ state: "detached" });
    await timeline.locator(".notice").waitFor({ state: "hidden" });
    await window.picture("4-three-stages");
    assertNoStrangers(window);
  },
);

scenario(
  "a deadlock ends in the blocked state, in every kind of theme",
  { trust: "all", files: { "ring.py": DEADLOCK } },
  async (window) => {
    const { page } = window;
    await window.openFile("ring.py");
    await window.command("TIRx Lens: Show Timeline");
    const timeline = view(window);
    await timeline.locator("strong.bad", { hasText: "Deadlock: 4 roles wait without end" }).waitFor();
    assert.equal(await bars(window, "blocked").count(), 4);
    await bars(window, "blocked").filter({ hasText: "empty[0] phase 0: wants 128 of 128 arrivals" }).first().waitFor();
    await timeline.locator(".story li", { hasText: "never got past the wait at full[0]" }).waitFor();
    for (const [theme, kind] of [
      ["Light Modern", "vscode-light"],
      ["Dark High Contrast", "vscode-high-contrast"],
      ["Light High Contrast", "vscode-high-contrast-light"],
      ["Dark Modern", "vscode-dark"],
    ] as const) {
      await window.chooseTheme(theme);
      await timeline.locator(`body.${kind}`).waitFor();
      const blocked = bars(window, "blocked").first();
      const edge = await styleOf(blocked, ".done", "stroke");
      const text = await styleOf(blocked, "text", "fill");
      assert.match(String(edge), /^rgb/);
      assert.notEqual(edge, text);
      await window.picture(kind);
    }
    // A step of the story leads to its line.
    await timeline.locator(".story .place", { hasText: "line 66" }).click();
    await page.locator(".statusbar-item", { hasText: "Ln 66, Col" }).waitFor();
    assertNoStrangers(window);
  },
);

scenario(
  "a race is marked on both accesses, and a kernel that is not run says why",
  { trust: "all", files: { "race.py": RACE, "open.py": brokenKernel("TX505"), "plain.py": "print('tirx')\n" } },
  async (window) => {
    await window.openFile("race.py");
    const { page } = window;
    // The finding itself offers it.
    await page.keyboard.press("Control+Shift+M");
    await window.goToProblem(page.locator(".markers-panel .monaco-list-row", { hasText: "TX309" }).first());
    await page.waitForSelector(".monaco-editor .squiggly-error");
    const timeline = view(window);
    await window.chooseQuickFix("Show in timeline", timeline.locator("strong.bad", { hasText: "1 race" }));
    assert.equal(await timeline.locator("g.bar.clash").count(), 2);
    await timeline.locator(".event .clash-text", { hasText: "writes over what is perhaps still being read" }).waitFor();
    await window.picture("1-race");

    await window.openFile("open.py");
    await window.command("TIRx Lens: Show Timeline");
    const other = window.page.locator(".tab.active", { hasText: "Timeline open.py" });
    await other.waitFor();
    await eventually("it says why", async () => {
      const frames = window.page.frames();
      const texts = await Promise.all(frames.map((frame) => frame.locator(".why").allInnerTexts().catch(() => [])));
      return texts.flat().some((text) => text.includes("something may use its barriers that is not seen"));
    });
    await window.picture("2-not-run");

    await window.focusGroup(0);
    await window.openFile("plain.py");
    await window.command("TIRx Lens: Show Timeline");
    await window.notification("There is no TIRx kernel here");
  },
);
