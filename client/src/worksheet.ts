/** "Show Worksheet": the tables of a kernel in a panel beside it, kept as its text is. */
import * as vscode from "vscode";
import type { Place } from "./notebooks";
import { worksheetRequest, type WorksheetParams } from "./protocol";
import type { Supervisor } from "./server/supervisor";
import { show } from "./ui/notify";
import { PagePanels } from "./ui/pagePanels";

/** Which kernels are shown: those around a place, or of a builder. */
type Asked = Pick<WorksheetParams, "position" | "builder">;

export class WorksheetPanels implements vscode.Disposable {
  readonly #panels: PagePanels<Asked>;

  constructor(supervisor: Supervisor) {
    this.#panels = new PagePanels({
      view: "tirx-lens.worksheet",
      ask: (source, asked) => supervisor.ask(worksheetRequest, { textDocument: { uri: source.toString() }, ...asked }),
    });
  }

  /** Show the worksheet of the kernel at the cursor, or of all kernels of the file. */
  async showBeside(editor: Place | undefined): Promise<void> {
    if (editor?.document.languageId !== "python") {
      await show("information", "Open a Python file with a TIRx kernel first, then ask for its worksheet.");
      return;
    }
    const { line, character } = editor.selection.active;
    await this.show(editor.document.uri, { position: { line, character } });
  }

  /** Show the worksheet of some kernels of a file beside it. */
  async show(source: vscode.Uri, asked: Asked): Promise<void> {
    await this.#panels.show(source, asked);
  }

  /** Fill in what is shown of a file anew. */
  async refresh(source: vscode.Uri): Promise<void> {
    await this.#panels.refresh(source);
  }

  dispose(): void {
    this.#panels.dispose();
  }
}
