/** Starts the view where it finds itself: in a webview of the editor, or in a page of its own. */
import { showPage } from "./page";
import { View } from "./view";
import type { FromView, ToView } from "./model";

declare function acquireVsCodeApi(): { readonly postMessage: (message: FromView) => void };

if (typeof acquireVsCodeApi === "function") {
  const editor = acquireVsCodeApi();
  const view = new View(document.body, {
    reveal: (place, takesFocus) => editor.postMessage({ type: "reveal", place, takesFocus }),
    choose: (kernel) => editor.postMessage({ type: "choose", kernel }),
  });
  window.addEventListener("message", ({ data }: MessageEvent<ToView>) => {
    if (data.type === "show") {
      view.show(data);
    } else {
      view.cursor(data.file, data.first, data.last);
    }
  });
  editor.postMessage({ type: "ready" });
} else {
  showPage();
}
