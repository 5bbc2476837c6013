import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import type { Editor } from "./harness/editor";
import { eventually } from "./harness/eventually";
import { brokenKernel } from "./harness/kernels";
import { scenario } from "./harness/scenario";
import type { Window } from "./harness/window";

const BROKEN = brokenKernel("TX102");

async function seesProblem(window: Window): Promise<void> {
  await window.page.locator(".tab.active", { hasText: "broken.py" }).locator(".monaco-icon-label").first().waitFor();
  await window.page.locator(".markers-panel .monaco-list-row", { hasText: "cta_sync" }).first().waitFor();
}

/** Kill the language server as a crash would end it, and wait until it is gone. */
async function kill(editor: Editor): Promise<void> {
  await eventually("a language server runs", async () => (await editor.languageServers()).length === 1);
  const [victim = 0] = await editor.languageServers();
  process.kill(victim, "SIGKILL");
  await eventually("it is gone", async () => !(await editor.languageServers()).includes(victim));
}

scenario(
  "a server that crashes is started again, and when it keeps crashing the user is told",
  { trust: "all", files: { "broken.py": BROKEN } },
  async (window, editor) => {
    const { page } = window;
    await window.openFile("broken.py");
    await page.keyboard.press("Control+Shift+M");
    await seesProblem(window);

    await kill(editor);
    await window.notification("The TIRx Lens server stopped and was started again: it ended by signal SIGKILL");
    await window.picture("1-started-again");
    await seesProblem(window);
    await window.command("Notifications: Clear All Notifications");

    await kill(editor);
    await kill(editor);
    await kill(editor);
    const told = await window.notification("The TIRx Lens server stopped 4 times in 3 minutes");
    await window.picture("2-keeps-crashing");
    assert.equal(await page.locator(".notification-toast", { hasText: "couldn't create connection" }).count(), 0);
    assert.deepEqual(await editor.languageServers(), []);

    await window.pressIn(told, "Restart Server");
    await seesProblem(window);
    // What was typed meanwhile is still there, and is what the new server looks at.
    await window.goToProblem(page.locator(".markers-panel .monaco-list-row", { hasText: "cta_sync" }).first());
    await page.keyboard.type("pass");
    await page.locator(".markers-panel .monaco-list-row", { hasText: "cta_sync" }).first().waitFor({ state: "detached" });
    assert.equal(readFileSync(editor.file("broken.py"), "utf8"), BROKEN);
  },
);

scenario(
  "an interpreter that does not exist is told, and kernels are checked all the same",
  {
    trust: "all",
    files: { "broken.py": BROKEN },
    machineSettings: { "tirx-lens.interpreter": ["/nowhere/bin/python"] },
  },
  async (window) => {
    const { page } = window;
    await window.openFile("broken.py");
    const told = await window.notification("The kernel interpreter /nowhere/bin/python does not exist");
    await page.keyboard.press("Control+Shift+M");
    await seesProblem(window);
    await window.picture("1-told");
    await window.pressIn(told, "Open Settings");
    await page.locator(".settings-editor").getByText("The Python that has TVM").first().waitFor();
    await window.picture("2-settings");

    await page.keyboard.press("Control+w");
    await window.openFile("broken.py");
    await window.command("TIRx Lens: Show Generated CUDA");
    await window.notification("/nowhere/bin/python");
    await window.picture("3-no-cuda");

    await window.command("TIRx Lens: Print Debug Information");
    await page.locator(".part.panel .view-line", { hasText: "kernel interpreter" }).first().waitFor();
    await window.picture("4-debug-information");
  },
);

scenario(
  "a server that does not start says why, in its own last words",
  {
    trust: "all",
    files: { "broken.py": BROKEN, "server": "#!/bin/sh\necho 'the licence server is asleep' >&2\nexit 3\n" },
    machineSettings: { "tirx-lens.path": "${workspaceFolder}/server" },
  },
  async (window) => {
    await window.openFile("broken.py");
    await window.notification(
      "The TIRx Lens server did not start: it ended with exit code 3: the licence server is asleep",
    );
    await window.picture("1-not-started");
    await window.command("Notifications: Clear All Notifications");
    await window.command("TIRx Lens: Show Generated CUDA");
    const refusal = await window.notification("The TIRx Lens server is not running: it ended with exit code 3");
    await refusal.locator(".monaco-button", { hasText: "Restart Server" }).waitFor();
    await window.picture("2-no-cuda");
  },
);
