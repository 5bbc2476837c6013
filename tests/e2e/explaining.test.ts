import assert from "node:assert/strict";
import { scenario } from "./harness/scenario";
import { kernel, lineOf } from "./harness/kernels";
import { eventually } from "./harness/eventually";

const STEP7 = kernel("gemm_step7_warp_specialized.py");
const WAIT = lineOf(STEP7, "full.wait(mma.stage, mma.phase)");

scenario(
  "barriers and threads explained in the text, in a dark and a light theme",
  {
    trust: "all",
    files: { "gemm.py": STEP7 },
    machineSettings: {
      "tirx-lens.inlayHints.participants": true,
      "tirx-lens.inlayHints.arrivals": true,
    },
  },
  async (window) => {
    const { page } = window;
    // Blanks in hints are of the kind that does not break.
    const hint = (words: string) =>
      page.locator(".view-line span", { hasText: new RegExp(words.replaceAll(" ", "\\s")) });
    const hover = page.locator(".monaco-hover-content");

    await window.openFile("gemm.py");
    await window.goToLine(WAIT);
    for (const theme of ["light", "dark"]) {
      if (theme === "dark") {
        await window.command("Preferences: Toggle between Light/Dark Themes");
        await page.locator(".monaco-workbench.vs-dark").waitFor();
      }
      for (const words of ["16384 of 32768 bytes", "32 threads", "1 thread", "1 of 1"]) {
        await hint(words).first().waitFor();
      }
      await window.picture(`${theme}-1-hints`);

      await page.keyboard.press("End");
      await page.keyboard.press("Home");
      await window.command("Show or Focus Hover");
      await hover.filter({ hasText: "4 slots, 1 arrival ends a phase, with 32768 bytes" }).first().waitFor();
      await hover.filter({ hasText: /Pair: empty \(line \d+\)/ }).first().waitFor();
      await window.picture(`${theme}-2-hover`);
      if (theme === "light") {
        await page.keyboard.press("Escape");
      }
    }

    // A line that the hover names leads there.
    const arming = lineOf(STEP7, "full.arrive(load.stage, STAGE_BYTES)");
    await hover.locator("a", { hasText: `line ${arming}` }).first().click();
    await page.locator(".statusbar-item", { hasText: `Ln ${arming}, Col` }).waitFor();

    // From the arrival to the wait that it ends, by keyboard.
    await page.keyboard.press("End");
    await page.keyboard.press("Home");
    await page.keyboard.press("Control+ArrowRight");
    await page.keyboard.press("Control+ArrowRight");
    await page.keyboard.press("F12");
    await page.locator(".statusbar-item", { hasText: `Ln ${WAIT}, Col` }).waitFor();

    // Both sides of the barrier are marked where the cursor is moved by hand.
    await page.keyboard.press("ArrowRight");
    await page.locator(".wordHighlight, .wordHighlightStrong").first().waitFor();

    // The call hierarchy goes back over what the wait depends on.
    await page.keyboard.press("Shift+Alt+H");
    const rows = page.locator(".sidebar .monaco-list-row");
    await rows.filter({ hasText: "full.arrive" }).first().waitFor();
    await window.picture("3-hierarchy");
    await page.keyboard.press("Escape");

    // The outline has the roles, by their threads.
    await page.keyboard.press("Control+Shift+O");
    const symbols = page.locator(".quick-input-list .monaco-list-row");
    await symbols.filter({ hasText: "one elected lane of warp 3 of warpgroup 1" }).first().waitFor();
    await symbols.filter({ hasText: "acc_empty" }).first().waitFor();
    await window.picture("4-outline");
    await page.keyboard.press("Escape");

    // An edit is answered for.
    await window.replaceLine(lineOf(STEP7, "acc_empty.init(WRITEBACK)"), "        acc_empty.init(64)");
    await eventually("the hint follows the edit", async () =>
      (await page.locator(".view-line", { hasText: /128.of.64/ }).count()) > 0,
    );
    assert.deepEqual([...window.strangers], []);
  },
);
