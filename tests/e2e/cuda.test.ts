import assert from "node:assert/strict";
import { scenario } from "./harness/scenario";
import { kernel, lineOf } from "./harness/kernels";

const STEP1 = kernel("gemm_step1_one_cta.py");
const WITHOUT_ARGUMENTS = STEP1.replace(/^# tirx-lens: args .*\n/m, "");

scenario(
  "CUDA beside its kernel, and again after a save",
  { trust: "all", files: { "gemm.py": STEP1 } },
  async (window) => {
    const { page } = window;
    await window.openFile("gemm.py");
    await window.goToLine(lineOf(STEP1, "def gemm("));
    await window.command("TIRx Lens: Show Generated CUDA");
    const cuda = window.group(1);
    await cuda.locator(".tab.active", { hasText: ".cu" }).waitFor();
    await cuda.locator(".view-line", { hasText: "__global__" }).first().waitFor();
    await window.picture("1-cuda-beside");
    assert.equal(await page.locator(".tab.dirty").count(), 0);

    // The cursor has stayed in the source, where the next keys go.
    await window.replaceLine(lineOf(STEP1, "TMEM_COLS = 128"), "TMEM_COLS = 256");
    await window.save();
    await window.find(cuda, "b32(tmem_base, (uint)256)");
    await window.picture("2-after-a-save");

    // A failed build leaves the last good CUDA, and says that it is old.
    await window.focusGroup(0);
    await window.replaceLine(lineOf(STEP1, "TMEM_COLS = 128"), "TMEM_COLS = undefined_name");
    await window.save();
    const failure = await window.notification("The CUDA shown is that of the last good build");
    await cuda.locator(".tab .monaco-icon-label[class*='monaco-decoration']").first().waitFor();
    await window.picture("3-failed-build");
    await window.pressIn(failure, "Go to Place");
    await page.locator(".statusbar-item", { hasText: `Ln ${lineOf(STEP1, "TMEM_COLS = 128")}, Col` }).waitFor();
    await window.find(cuda, "b32(tmem_base, (uint)256)");
  },
);

scenario(
  "arguments are asked for where nothing gives them, and remembered",
  { trust: "all", files: { "gemm.py": WITHOUT_ARGUMENTS } },
  async (window) => {
    const { page } = window;
    await window.openFile("gemm.py");
    await window.command("TIRx Lens: Show Generated CUDA");
    const box = page.locator(".quick-input-widget");
    const input = box.locator("input").first();
    await box.getByText("Arguments of gemm").waitFor();
    assert.equal(await input.inputValue(), "M= N= K=");
    await input.fill("M=128 N=128 L=64");
    await box.getByText("There is no parameter L; there are M, N, K.").waitFor();
    await window.picture("1-refused");
    await input.fill("M=128 N=128 K=64");
    await input.press("Enter");
    await window.group(1).locator(".view-line", { hasText: "__global__" }).first().waitFor();

    await window.command("TIRx Lens: Show Generated CUDA");
    await box.getByText("Arguments of gemm").waitFor();
    assert.equal(await input.inputValue(), "M=128 N=128 K=64");
    await window.picture("2-remembered");
    await input.press("Escape");
  },
);

const STEP2 = kernel("gemm_step2_k_loop.py");
const ARGUMENTS = "# tirx-lens: args M=128 N=128 K=256";
const BUILDER = STEP2.slice(STEP2.indexOf(ARGUMENTS), STEP2.indexOf("\n\n\ndef run_correctness"));
const TWO_BUILDERS = `${STEP2}\n\n${BUILDER.replace("def gemm", "def another")}\n`;

scenario(
  "a builder is chosen where the cursor is in none, and the tab follows its arguments",
  { trust: "all", files: { "two.py": TWO_BUILDERS } },
  async (window) => {
    const { page } = window;
    await window.openFile("two.py");
    await window.command("TIRx Lens: Show Generated CUDA");
    const another = page.locator(".quick-input-list .monaco-list-row", { hasText: "another" });
    await another.waitFor();
    await window.picture("1-choose");
    await another.click();
    const cuda = window.group(1);
    await cuda.locator(".tab", { hasText: "another M=128 N=128 K=256.cu" }).waitFor();

    const line = TWO_BUILDERS.split("\n").lastIndexOf(ARGUMENTS) + 1;
    await window.replaceLine(line, ARGUMENTS.replace("K=256", "K=512"));
    await window.save();
    await cuda.locator(".tab", { hasText: "another M=128 N=128 K=512.cu" }).waitFor();
    await cuda.locator(".tab", { hasText: "K=256" }).waitFor({ state: "detached" });
    await window.picture("2-other-arguments");
    // The keyboard is still in the source.
    await page.locator(".editor-group-container.active .tab.active", { hasText: "two.py" }).waitFor();
  },
);
