import { rm, writeFile } from "node:fs/promises";
import type { Locator } from "playwright-core";
import { brokenKernel, kernel } from "./harness/kernels";
import { scenario } from "./harness/scenario";
import type { Window } from "./harness/window";

const BROKEN = brokenKernel("TX205");
const MENDED = BROKEN.replace("K=500", "K=512");

function problemsOf(window: Window, file: string): Locator {
  return window.page.locator(".markers-panel .monaco-list-row", { hasText: file });
}

scenario(
  "all files of a workspace are checked on request, and followed on disk",
  {
    trust: "all",
    files: {
      "clean.py": kernel("tma_ring_copy.py"),
      "kernels/broken.py": BROKEN,
      "kernels/again.py": BROKEN,
      "ignored/broken.py": BROKEN,
      ".gitignore": "ignored/\n",
      "plain.py": "x = 1\n",
    },
  },
  async (window, editor) => {
    const { page } = window;
    await window.openFile("clean.py");
    await window.command("TIRx Lens: Check All Files");
    const told = await window.notification("Checked 3 TIRx files: 4 findings in 2 files.");
    await window.picture("1-checked");
    await window.pressIn(told, "Show Problems");
    await problemsOf(window, "broken.py").first().waitFor();
    await problemsOf(window, "again.py").first().waitFor();
    await window.picture("2-problems");

    // What changes on disk is followed.
    await writeFile(editor.file("kernels/again.py"), MENDED);
    await problemsOf(window, "again.py").first().waitFor({ state: "detached" });
    await writeFile(editor.file("kernels/new.py"), BROKEN);
    await problemsOf(window, "new.py").first().waitFor();
    await window.picture("3-changed-on-disk");

    // A file is live while it is open; its last result stays when it is closed.
    await window.openFile("kernels/broken.py");
    await window.replaceLine(16, "# tirx-lens: args M=256 N=256 K=512");
    await problemsOf(window, "broken.py").first().waitFor({ state: "detached" });
    await window.replaceLine(16, "# tirx-lens: args M=256 N=256 K=500");
    await window.save();
    await problemsOf(window, "broken.py").first().waitFor();
    await window.group(0).locator(".tab.active").click({ button: "middle" });
    await page.locator(".tab", { hasText: "broken.py" }).waitFor({ state: "detached" });
    await problemsOf(window, "broken.py").first().waitFor();
    await window.picture("4-closed");

    // A folder that is deleted takes with it what was found in it.
    await rm(editor.file("kernels"), { recursive: true });
    await problemsOf(window, "broken.py").first().waitFor({ state: "detached" });
    await problemsOf(window, "new.py").first().waitFor({ state: "detached" });

    await writeFile(editor.file("last.py"), BROKEN);
    await problemsOf(window, "last.py").first().waitFor();
    await window.command("TIRx Lens: Clear Findings of All Files");
    await problemsOf(window, "last.py").first().waitFor({ state: "detached" });
    await window.picture("5-cleared");
  },
);

const MANY = Object.fromEntries(
  Array.from({ length: 150 }, (_, index) => [`many/${index}.py`, BROKEN.replace("K=500", `K=${500 + index}`)]),
);

scenario(
  "a check of all files is cancelled while typing goes on",
  { trust: "all", files: { "typed.py": BROKEN, ...MANY } },
  async (window) => {
    const { page } = window;
    await window.openFile("typed.py");
    await page.keyboard.press("Control+Shift+M");
    await problemsOf(window, "typed.py").first().waitFor();
    await window.focusGroup(0);
    await window.command("TIRx Lens: Check All Files");
    const running = await window.notification("Checking TIRx files");
    await running.filter({ hasText: " of 151 files" }).waitFor();
    await window.picture("1-running");
    await window.replaceLine(16, "# tirx-lens: args M=256 N=256 K=512");
    await problemsOf(window, "typed.py").first().waitFor({ state: "detached" });
    await window.pressIn(running, "Cancel");
    await window.notification("Stopped. Checked");
    await page.locator(".notification-toast", { hasText: "Checking TIRx files" }).waitFor({ state: "detached" });
    await window.picture("2-stopped");
  },
);
