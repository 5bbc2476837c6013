import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { KERNEL_PYTHON, ROOT } from "./harness/editor";
import { kernel, lineOf } from "./harness/kernels";

const STEP7 = kernel("gemm_step7_warp_specialized.py");
const PICTURES = path.join(ROOT, ".build/e2e/html-page");

test("the HTML page links a kernel and its CUDA in a browser, and loads nothing", { timeout: 180_000 }, async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "tirx-lens-page-"));
  const page = path.join(folder, "page.html");
  const file = path.join(ROOT, "kernels/gemm_step7_warp_specialized.py");
  const words = ["-m", "tirx_lens.cli.main", "cuda", file, "--html", page];
  const env = { ...process.env, TIRX_LENS_CACHE: path.join(folder, "cache") };
  const made = spawnSync(KERNEL_PYTHON, words, { encoding: "utf8", env });
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
      await tab.goto(pathToFileURL(page).href);

      const python = (line: number) => tab.locator(`.python li[data-line="${line}"]`);
      const cuda = tab.locator(".cuda");

      // A click in the kernel shows its CUDA.
      await python(lineOf(STEP7, "empty.wait(load.stage, load.phase)")).click();
      const linked = cuda.locator("li.linked");
      await linked.filter({ hasText: "mbarrier_wait" }).first().waitFor();
      assert.equal(await linked.count(), 1);
      assert.ok(await linked.first().isVisible());
      await tab.screenshot({ path: path.join(PICTURES, `${colorScheme}.png`) });

      // The arrow keys go on from there.
      await tab.keyboard.press("ArrowDown");
      await linked.filter({ hasText: "expect_tx" }).first().waitFor();

      // And back: an instruction of the CUDA, found in the outline, marks its Python.
      await tab.locator("nav button", { hasText: "tcgen05 MMA" }).first().click();
      await python(lineOf(STEP7, "Tx.gemm_async(")).and(tab.locator(".linked")).waitFor();
      assert.match(tab.url(), /#kernel-0-cuda-\d+$/);
      await tab.reload();
      await cuda.locator("li.here").waitFor();

      // The helpers are folded away until they are asked for.
      const helper = cuda.locator("details li").first();
      assert.equal(await helper.isVisible(), false);
      await cuda.locator("summary").click();
      await helper.waitFor();

      assert.deepEqual(problems, []);
      assert.deepEqual([...new Set(loaded.map((url) => url.split("#")[0]))], [pathToFileURL(page).href]);
      await context.close();
    }
  } finally {
    await browser.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
