import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { scenario } from "./harness/scenario";
import { eventually } from "./harness/eventually";

/** A kernel in the last cell but one, with names from the cells before it. */
const CELLS: readonly (readonly ["code" | "markdown", string])[] = [
  ["code", "from tvm.script import tirx as T\n\nTHREADS = 256"],
  ["code", "%alias_magic t timeit\nFACTOR = 2.0"],
  ["markdown", "The **first** warpgroup scales its part."],
  [
    "code",
    `@T.prim_func
def scale(A: T.Buffer((THREADS,), "float32")):
    T.device_entry()
    wg_id = T.warpgroup_id([2])
    tx = T.thread_id([THREADS])
    if wg_id == 0:
        A[tx] = A[tx] * T.float32(FACTOR)
        T.cuda.cta_sync()`,
  ],
  ["code", "display(scale)"],
];

function notebook(): string {
  const cells = CELLS.map(([kind, text], index) => ({
    cell_type: kind,
    id: `cell-${index}`,
    metadata: {},
    source: text.split(/(?<=\n)/),
    ...(kind === "code" ? { execution_count: null, outputs: [] } : {}),
  }));
  const metadata = { language_info: { name: "python" } };
  return `${JSON.stringify({ cells, metadata, nbformat: 4, nbformat_minor: 5 }, undefined, 1)}\n`;
}

scenario(
  "a kernel in a notebook: its mistake, the fix, its CUDA beside it",
  { trust: "all", files: { "scale.ipynb": notebook() } },
  async (window, editor) => {
    const { page } = window;
    const cells = await window.openNotebook("scale.ipynb");
    // Blanks in cells are of the kind that does not break.
    const cell = (words: string) => cells.filter({ hasText: new RegExp(words.replaceAll(" ", "\\s")) });
    const sync = cell("cta_sync");

    // The kernel's barrier waits for threads that the guard keeps away: T and THREADS are of cell 1.
    await sync.locator(".squiggly-error").first().waitFor();
    await window.picture("1-mistake");
    await window.command("Problems: Focus on Problems View");
    const problem = page.locator(".markers-panel .monaco-list-row", { hasText: "cta_sync" });
    await problem.filter({ hasText: "128 of 256 threads" }).first().waitFor();
    await window.picture("2-problems");

    // Another number of threads in cell 1 is another message in cell 4.
    await cell("THREADS = 256").locator(".view-line", { hasText: "THREADS" }).click();
    await page.keyboard.press("End");
    await page.keyboard.press("Backspace");
    await page.keyboard.press("Backspace");
    await page.keyboard.press("Backspace");
    await page.keyboard.insertText("384");
    await problem.filter({ hasText: "128 of 256 threads" }).first().waitFor({ state: "detached" });
    await page.keyboard.press("Control+Z");
    await page.keyboard.press("Control+Z");
    await page.keyboard.press("Control+Z");
    await page.keyboard.press("Control+Z");
    await problem.filter({ hasText: "128 of 256 threads" }).first().waitFor();

    await window.goToProblem(problem.first());
    await window.quickFix("Synchronise warpgroup 0 only");
    await window.picture("3-fixes");
    await page.keyboard.press("Enter");
    await cell("warpgroup_sync.10.").first().waitFor();
    await problem.first().waitFor({ state: "detached" });
    await window.command("View: Hide Panel");

    // The CUDA of the kernel of this cell; the cell below it, which no Python runs, stays out of it.
    await window.command("TIRx Lens: Show Generated CUDA");
    const cuda = window.group(1);
    await cuda.locator(".tab.active", { hasText: "scale" }).waitFor();
    await cuda.locator(".view-line", { hasText: "__global__" }).first().waitFor();
    await window.picture("4-cuda");

    // The cursor's line of the cell is marked in the CUDA.
    await cell("warpgroup_sync.10.").locator(".view-line", { hasText: "T.float32(FACTOR)" }).click();
    await page.keyboard.press("End");
    await eventually("the line of the CUDA is marked", async () =>
      (await cuda.locator(".view-overlays .cdr").count()) > 0,
    );
    await window.picture("5-linked");

    // Saved, the notebook is as it was but for the line that was mended, and the CUDA is built again.
    await page.keyboard.press("Control+S");
    await eventually("the notebook is saved", async () =>
      (await readFile(editor.file("scale.ipynb"), "utf8")).includes("warpgroup_sync(10)"),
    );
    // What VS Code's own page of outputs asks for, its service worker answers.
    const strangers = [...window.strangers].filter((host) => !host.endsWith(".vscode-resource.vscode-cdn.net"));
    assert.deepEqual(strangers, []);
  },
);

scenario(
  "a notebook that is not open is checked with all files; open, its cells show what is wrong",
  { trust: "all", files: { "scale.ipynb": notebook(), "other.py": "x = 1\n" } },
  async (window) => {
    const { page } = window;
    const row = page.locator(".markers-panel .monaco-list-row");
    await window.openFile("other.py");
    await window.command("TIRx Lens: Check All Files");
    const told = await window.notification("Checked 1 TIRx file: 1 finding in 1 file.");
    await window.pressIn(told, "Show Problems");
    const closed = row.filter({ hasText: "cell 4, line 8: " });
    await closed.filter({ hasText: "128 of 256 threads" }).first().waitFor();
    await row.filter({ hasText: "scale.ipynb" }).first().waitFor();
    await window.picture("1-closed");

    // The way to it leads into the notebook, whose cells have it from then on.
    await closed.first().dblclick();
    await page.locator(".notebookOverlay .cell-list-container .code-cell-row").first().waitFor();
    await closed.first().waitFor({ state: "detached" });
    await row.filter({ hasText: "128 of 256 threads" }).first().waitFor();
    await window.picture("2-open");
  },
);
