import { kernel, lineOf } from "./harness/kernels";
import { scenario } from "./harness/scenario";
import type { Window } from "./harness/window";

const ARGUMENTS = "# tirx-lens: args M=128 N=128 K=256";
const STEP2 = kernel("gemm_step2_k_loop.py");

const REGISTERED = `${STEP2.replace(ARGUMENTS, "").replace("def gemm(M, N, K)", "def get_kernel(M, N, K)")}
KERNEL_META = {"name": "gemm"}
CONFIGS = [
    {"label": "k256", "M": 128, "N": 128, "K": 256},
    {"label": "k512", "M": 128, "N": 128, "K": 512},
    {"label": "k100", "M": 128, "N": 128, "K": 100},
]
`;

scenario(
  "a registered kernel's configuration is chosen, and builds on save follow the choice",
  { trust: "all", files: { "registered.py": REGISTERED }, machineSettings: { "tirx-lens.build.onSave": true } },
  async (window) => {
    await window.openFile("registered.py");
    await window.goToLine(lineOf(REGISTERED, "def get_kernel("));
    await window.command("TIRx Lens: Show Generated CUDA");
    await row(window, "k256").waitFor();
    await window.picture("1-which-configuration");
    await row(window, "k512").click();
    const cuda = window.group(1);
    await cuda.locator(".tab.active", { hasText: "get_kernel k512.cu" }).waitFor();
    await cuda.locator(".view-line", { hasText: "__global__" }).first().waitFor();
    await window.picture("2-its-cuda");

    // Asked again, what was chosen last is at the top.
    await window.command("TIRx Lens: Show Generated CUDA");
    await row(window, "chosen last").waitFor();
    await window.picture("3-chosen-last");
    await window.page.locator(".quick-input-list .monaco-list-row").first().filter({ hasText: "k512" }).waitFor();
    await window.page.keyboard.press("Escape");

    // A build on save is of that configuration, not of the first.
    await window.page.keyboard.press("Control+Shift+M");
    await window.focusGroup(0);
    await window.replaceLine(lineOf(REGISTERED, '"label": "k512"'), '    {"label": "k512", "M": 129, "N": 128, "K": 512},');
    await window.save();
    const problem = window.page.locator(".markers-panel .monaco-list-row", { hasText: "TX506" }).first();
    await problem.filter({ hasText: "not 129 x 128" }).waitFor();
    await window.picture("4-built-on-save");
  },
);

const TABLE = `[tool.tirx-lens.arguments]
gemm = [{ M = 128, N = 128, K = 512 }, { K = 1024 }]
`;

scenario(
  "one of several sets of arguments is chosen, and the tab follows it",
  { trust: "all", files: { "gemm.py": STEP2, "pyproject.toml": TABLE } },
  async (window) => {
    await window.openFile("gemm.py");
    await window.command("TIRx Lens: Show Generated CUDA");
    await row(window, "M=128 N=128 K=256").filter({ hasText: "comment" }).waitFor();
    await row(window, "M=128 N=128 K=512").filter({ hasText: "configuration" }).waitFor();
    await window.picture("1-which-arguments");
    await row(window, "K=1024").click();
    const cuda = window.group(1);
    await cuda.locator(".tab", { hasText: "gemm M=128 N=128 K=1024.cu" }).waitFor();

    await window.openFile("pyproject.toml");
    await window.replaceLine(2, "gemm = [{ M = 128, N = 128, K = 512 }, { K = 2048 }]");
    await window.save();
    await window.group(0).locator(".tab", { hasText: "gemm.py" }).click();
    await window.replaceLine(lineOf(STEP2, "import tvm"), "import tvm ");
    await window.save();
    await cuda.locator(".tab", { hasText: "gemm M=128 N=128 K=2048.cu" }).waitFor();
    await cuda.locator(".tab", { hasText: "K=1024" }).waitFor({ state: "detached" });
    await window.picture("2-the-tab-follows");
  },
);

function row(window: Window, text: string): import("playwright-core").Locator {
  return window.page.locator(".quick-input-list .monaco-list-row", { hasText: text }).first();
}
