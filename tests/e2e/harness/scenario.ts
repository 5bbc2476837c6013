/** One test: an editor, a window on it, and what is kept when it fails. */
import path from "node:path";
import { test } from "node:test";
import { Editor, ROOT, type EditorOptions } from "./editor";
import { Window } from "./window";

/** How long a scenario may take, set-up included. */
const LIMIT_MS = 300_000;

/** Declare a test that has an editor and a window of its own. */
export function scenario(
  name: string,
  options: EditorOptions,
  body: (window: Window, editor: Editor) => Promise<void>,
): void {
  const slug = name.toLowerCase().replace(/[^a-z0-9]+/g, "-");
  test(name, { timeout: LIMIT_MS }, async () => {
    const editor = await Editor.start(options);
    let window: Window | undefined;
    try {
      window = await Window.open(editor, slug);
      await body(window, editor);
    } catch (error) {
      await window?.picture("failure");
      await editor.keepLogs(path.join(ROOT, ".build/e2e", slug, "failure"));
      throw error;
    } finally {
      await window?.close();
      await editor.stop();
    }
  });
}
