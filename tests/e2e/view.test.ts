import assert from "node:assert/strict";
import { eventually } from "./harness/eventually";
import { brokenKernel, kernel, lineOf } from "./harness/kernels";
import { scenario } from "./harness/scenario";

const BROKEN = brokenKernel("TX102");

scenario(
  "what is wrong in the CUDA is shown in it and in its source",
  { trust: "all", files: { "broken.py": BROKEN } },
  async (window) => {
    const { page } = window;
    await window.openFile("broken.py");
    await window.goToLine(lineOf(BROKEN, "tirx-lens: args"));
    await window.command("TIRx Lens: Show Generated CUDA");
    const cuda = window.group(1);
    await cuda.locator(".view-line", { hasText: "__global__" }).first().waitFor();
    await page.keyboard.press("Control+Shift+M");
    const problems = page.locator(".markers-panel .monaco-list-row");
    const inCuda = problems.filter({ hasText: "This CTA barrier waits for all 256 threads" }).first();
    await inCuda.waitFor();
    await problems.filter({ hasText: ".cu" }).first().waitFor();
    await problems.filter({ hasText: "broken.py" }).first().waitFor();
    await window.goToProblem(inCuda);
    await cuda.locator(".squiggly-error").first().waitFor();
    await window.picture("1-both");
  },
);

const RING = kernel("tma_ring_copy.py");

scenario(
  "kernels are built for another architecture",
  { trust: "all", files: { "ring.py": RING } },
  async (window) => {
    await window.openFile("ring.py");
    await window.command("TIRx Lens: Show Generated CUDA");
    const cuda = window.group(1);
    await cuda.locator(".view-line", { hasText: "__global__" }).first().waitFor();
    await window.command("TIRx Lens: Choose Target Architecture");
    const hopper = window.page.locator(".quick-input-list .monaco-list-row", { hasText: "sm_90a" }).first();
    await hopper.waitFor();
    await window.picture("1-which");
    await hopper.click();
    await cuda.locator(".tab", { hasText: /sm_90a\.cu/ }).waitFor();
    await window.picture("2-built-for-it");
  },
);

const MARK = ".view-overlays [class*='ced-']";

const HELPED = `from tvm.script import tirx as T


@T.inline
def put(B, A, i):
    B[i] = A[i] + T.float32(1)


def copy():
    @T.prim_func
    def kernel(A: T.Buffer((512,), "float32"), B: T.Buffer((512,), "float32")):
        T.device_entry()
        cta = T.cta_id([1])
        wg = T.warpgroup_id([1])
        tid = T.thread_id([128])
        for i in T.unroll(4):
            put(B, A, tid + i * 128)

    return kernel
`;

scenario(
  "a line of a helper has the CUDA of all its calls, and that has the helper and the call",
  { trust: "all", files: { "helped.py": HELPED } },
  async (window) => {
    const { page } = window;
    await window.openFile("helped.py");
    await window.command("TIRx Lens: Show Generated CUDA");
    const [python, cuda] = [window.group(0), window.group(1)];
    const marks = (group: typeof python): Promise<number> => group.locator(MARK).count();
    await cuda.locator(".view-line", { hasText: "B_ptr[" }).first().waitFor();
    await window.goToLine(lineOf(HELPED, "B[i] = A[i]"));
    // Four copies of the line, and three lines that TVM put between them: guessed, and drawn lighter.
    await eventually("seven lines are marked", async () => (await marks(cuda)) === 7);
    const kinds = await Promise.all((await cuda.locator(MARK).all()).map((one) => one.getAttribute("class")));
    const counts = kinds.map((kind) => kinds.filter((other) => other === kind).length);
    assert.deepEqual([...counts].sort(), [3, 3, 3, 4, 4, 4, 4]);
    await window.picture("1-from-the-helper");

    await window.find(cuda, "B_ptr[");
    await eventually("the helper's line and the call are marked", async () => (await marks(python)) === 2);
    await page.locator(".editor-group-container.active .tab.active", { hasText: ".cu" }).waitFor();
    await window.picture("2-from-the-cuda");
  },
);
