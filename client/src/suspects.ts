/** "Find Suspects from a Symptom": what of a kernel may cause it, in a panel beside the kernel. */
import * as vscode from "vscode";
import type { Place } from "./notebooks";
import { suspectsRequest, type Failed, type Page, type SuspectsParams } from "./protocol";
import type { Supervisor } from "./server/supervisor";
import { askBuild, askSymptom } from "./symptoms";
import { show } from "./ui/notify";
import { PagePanels } from "./ui/pagePanels";

const TITLE = "Find Suspects from a Symptom";

export class SuspectPanels implements vscode.Disposable {
  readonly #panels: PagePanels<SuspectsParams>;

  constructor(readonly supervisor: Supervisor) {
    this.#panels = new PagePanels({
      view: "tirx-lens.suspects",
      ask: (_, asked) => this.#ask(asked),
      // Nobody asked for another build: what an older one said is gone, and told.
      later: (asked) =>
        asked.build === true
          ? { asked: { ...asked, build: false }, notice: "The text has changed since the build: ask again to build it." }
          : { asked },
    });
  }

  /** Ask for the symptom, and show the suspects of the kernel at the cursor. */
  async showBeside(editor: Place | undefined): Promise<void> {
    if (editor?.document.languageId !== "python") {
      await show("information", "Open a Python file with a TIRx kernel first, then ask for its suspects.");
      return;
    }
    const source = editor.document.uri;
    const { line, character } = editor.selection.active;
    const symptom = await askSymptom(TITLE);
    const build = symptom === "slow" ? await askBuild(TITLE, "registers, spills and occupancy") : false;
    if (symptom === undefined || build === undefined) {
      return;
    }
    const asked = { textDocument: { uri: source.toString() }, position: { line, character }, symptom, build };
    await this.#panels.show(source, asked, symptom);
  }

  /** Ask anew for what is shown of a file. */
  async refresh(source: vscode.Uri): Promise<void> {
    await this.#panels.refresh(source);
  }

  dispose(): void {
    this.#panels.dispose();
  }

  /** Ask the server; undefined where the user cancelled a build. */
  async #ask(asked: SuspectsParams): Promise<Page | Failed | undefined> {
    if (asked.build !== true) {
      return this.supervisor.ask(suspectsRequest, asked);
    }
    const options = { location: vscode.ProgressLocation.Notification, title: "Building the kernel", cancellable: true };
    return vscode.window.withProgress(options, (_, token) => this.supervisor.ask(suspectsRequest, asked, token));
  }
}
