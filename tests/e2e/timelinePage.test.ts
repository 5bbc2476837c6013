import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { KERNEL_PYTHON, ROOT } from "./harness/editor";
import { brokenKernel, kernel, lineOf } from "./harness/kernels";

const PICTURES = path.join(ROOT, ".build/e2e/timeline-page");
const NAME = "gemm_step9_two_consumers.py";
const STEP9 = kernel(NAME);

test("a page of several kernels shows one at a time, and a deadlock from its blocked end", { timeout: 120_000 }, async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "tirx-lens-timelines-"));
  const [source, file] = [path.join(folder, "two.py"), path.join(folder, "page.html")];
  const copy = kernel("tma_ring_copy.py");
  const second = copy.slice(copy.indexOf("# tirx-lens: args")).replace("def ring_copy", "def correct_copy");
  writeFileSync(source, `${brokenKernel("TX107")}\n\n${second}`);
  const words = ["-m", "tirx_lens.cli.main", "timeline", source, "--html", file];
  const made = spawnSync(KERNEL_PYTHON, words, { encoding: "utf8" });
  assert.equal(made.status, 1, made.stderr);
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu"],
  });
  try {
    const tab = await browser.newPage({ viewport: { width: 1440, height: 880 } });
    await tab.goto(pathToFileURL(file).href);
    await tab.locator("strong.bad", { hasText: "Deadlock" }).waitFor();
    await tab.locator("g.bar.kind-blocked.selected", { hasText: "wants 128 of 128 arrivals" }).waitFor();
    await tab.locator(".text li.here", { hasText: "empty.wait(load.stage, load.phase)" }).waitFor();
    await tab.getByLabel("Kernel").selectOption("correct_copy");
    await tab.locator("strong.good", { hasText: "Runs to its end" }).waitFor();
    assert.equal(await tab.locator("g.bar.kind-blocked").count(), 0);
    assert.equal(await tab.locator(".story").isVisible(), false);
  } finally {
    await browser.close();
    rmSync(folder, { recursive: true, force: true });
  }
});

test("the page of a timeline works in a browser, and loads nothing", { timeout: 180_000 }, async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "tirx-lens-timeline-"));
  const file = path.join(folder, "page.html");
  const words = ["-m", "tirx_lens.cli.main", "timeline", path.join(ROOT, "kernels", NAME), "--html", file];
  const made = spawnSync(KERNEL_PYTHON, words, { encoding: "utf8" });
  assert.equal(made.status, 0, made.stderr);

  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu"],
  });
  mkdirSync(PICTURES, { recursive: true });
  try {
    for (const colorScheme of ["light", "dark"] as const) {
      const context = await browser.newContext({ viewport: { width: 1440, height: 880 }, colorScheme });
      const tab = await context.newPage();
      const problems: string[] = [];
      const loaded: string[] = [];
      tab.on("console", (message) => problems.push(message.text()));
      tab.on("pageerror", (error) => problems.push(error.message));
      tab.on("request", (request) => loaded.push(request.url()));
      await tab.goto(pathToFileURL(file).href);
      await tab.locator("strong.good", { hasText: "Runs to its end (22 roles, 2488 events)" }).waitFor();
      assert.equal(await tab.locator(".label.role").count(), 22);

      // A line of the text marks its events, and an event its line.
      const multiply = lineOf(STEP9, "Tx.gemm_async(");
      await tab.locator(`.text li[value="${multiply}"]`).click();
      await tab.locator("g.bar.kind-mma.here").first().waitFor();
      await tab.locator("g.bar.kind-wait").first().click();
      assert.equal(await tab.locator(".text li.here").count(), 1);
      await tab.screenshot({ path: path.join(PICTURES, `${colorScheme}.png`) });

      // The keyboard goes through the rows; what is not in view comes into view.
      for (let press = 0; press < 30; press += 1) {
        await tab.keyboard.press("ArrowDown");
      }
      const active = await tab.locator(".chart").getAttribute("aria-activedescendant");
      assert.ok(active !== null);
      assert.match((await tab.locator(`#${active}`).getAttribute("aria-label")) ?? "", /^Phase \d+ of /);
      assert.ok(await tab.locator(`#${active}`).isVisible());

      // All of it at once: small bars are drawn together, and can be chosen all the same.
      await tab.keyboard.press("0");
      await tab.locator("path.together").first().waitFor();
      assert.ok((await tab.locator("g.bar").count()) < 800);
      await tab.keyboard.press("Escape");
      await tab.locator(".chart").evaluate("document.querySelector('.chart').scrollTop = 0");
      const plot = await tab.locator(".plot").boundingBox();
      assert.ok(plot !== null);
      await tab.mouse.click(plot.x + plot.width * 0.05, plot.y + 34);
      await tab.locator(".said", { hasText: "of CTA 0" }).waitFor();
      await tab.screenshot({ path: path.join(PICTURES, `${colorScheme}-all.png`) });

      assert.deepEqual(problems, []);
      assert.deepEqual(loaded, [pathToFileURL(file).href]);
      await context.close();
    }
  } finally {
    await browser.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
