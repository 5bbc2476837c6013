import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { eventually } from "./harness/eventually";
import { KERNEL_PYTHON, ROOT } from "./harness/editor";
import { brokenKernel, lineOf } from "./harness/kernels";
import { scenario } from "./harness/scenario";

const BROKEN = brokenKernel("TX102");

// A Python that says it is newer than any parser of the extension, and has tirx-lens installed.
const NEWER = `#!/bin/sh
case "$*" in
*EXTENSION_SUFFIXES*) echo "$0|3.99.0|cpython|cpython-399|x86_64|.cpython-399-x86_64-linux-gnu.so:.so"; exit;;
esac
export PYTHONPATH="${ROOT}/server"
exec "${KERNEL_PYTHON}" "$@"
`;

scenario(
  "on a Python that the bundled parser is not for, the tirx-lens that is installed there serves",
  {
    trust: "all",
    files: {
      "broken.py": BROKEN,
      "newer/python3": NEWER,
      ".vscode/settings.json": JSON.stringify({
        "tirx-lens.interpreter": ["${workspaceFolder}/newer/python3"],
      }),
    },
  },
  async (window, editor) => {
    const { page } = window;
    await window.openFile("broken.py");
    await window.goToLine(lineOf(BROKEN, `${" ".repeat(12)}T.cuda.cta_sync()`));
    await page.waitForSelector(".monaco-editor .squiggly-error");
    await eventually("one language server runs", async () => (await editor.languageServers()).length === 1);
    const [server = 0] = await editor.languageServers();
    const words = (await readFile(`/proc/${server}/cmdline`, "utf8")).split("\0");
    assert.ok(words.includes("fromEnvironment"), words.join(" "));
    await window.command("TIRx Lens: Print Debug Information");
    await page.locator(".view-line", { hasText: "server runs on" }).first().waitFor();
    await window.picture("1-of-the-environment");
  },
);
