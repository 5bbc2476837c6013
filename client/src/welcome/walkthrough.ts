/** The walkthrough for newcomers: its sample, and what tells VS Code that a step is done. */
import * as vscode from "vscode";
import { SCHEME } from "../cuda/views";

const SAMPLE = "ring_copy.py";
/** What a step can show of the sample, by its word in the links of package.json. */
const SHOWS: Readonly<Record<string, string>> = {
  cuda: "tirx-lens.showGeneratedCuda",
  worksheet: "tirx-lens.showWorksheet",
  timeline: "tirx-lens.showTimeline",
};

/** Context keys of steps that are done. They are set when the thing has happened, not when it was asked for. */
type Done = "hasTvm" | "sampleFixed" | "cudaShown" | "worksheetShown" | "timelineShown";

export class Walkthrough implements vscode.Disposable {
  readonly #context: vscode.ExtensionContext;
  readonly #done = new Set<Done>();
  readonly #subscriptions: vscode.Disposable;
  /** The sample had a finding: when it has none any more, it was mended. */
  #wasBroken = false;

  constructor(context: vscode.ExtensionContext) {
    this.#context = context;
    const { registerCommand } = vscode.commands;
    this.#subscriptions = vscode.Disposable.from(
      registerCommand("tirx-lens.openWalkthrough", () =>
        vscode.commands.executeCommand("workbench.action.openWalkthrough", `${context.extension.id}#start`, false),
      ),
      registerCommand("tirx-lens.openSample", (what?: unknown) => this.#openSample(what)),
      vscode.languages.onDidChangeDiagnostics(({ uris }) => this.#diagnosticsChanged(uris)),
      vscode.window.tabGroups.onDidChangeTabs(({ opened }) => opened.forEach((tab) => this.#tabOpened(tab))),
    );
  }

  /** Note what the server said of the interpreter. */
  tvmFound(version: unknown): void {
    if (typeof version === "string" && version !== "") {
      this.#tick("hasTvm");
    }
  }

  dispose(): void {
    this.#subscriptions.dispose();
  }

  get #sample(): vscode.Uri {
    return vscode.Uri.joinPath(this.#context.globalStorageUri, "sample", SAMPLE);
  }

  /**
   * Open the sample, and show what was asked for of it. It is a file, since kernels are built with
   * the modules beside them; asked for alone it is as it was at first, unless it is being edited.
   */
  async #openSample(what: unknown): Promise<void> {
    const command = typeof what === "string" ? SHOWS[what] : undefined;
    const open = vscode.workspace.textDocuments.find(({ uri }) => uri.toString() === this.#sample.toString());
    if (command === undefined ? open?.isDirty !== true : !(await exists(this.#sample))) {
      const original = vscode.Uri.joinPath(this.#context.extensionUri, "client/walkthrough", SAMPLE);
      await vscode.workspace.fs.writeFile(this.#sample, await vscode.workspace.fs.readFile(original));
    }
    const document = await vscode.workspace.openTextDocument(this.#sample);
    const editor = await vscode.window.showTextDocument(document, vscode.ViewColumn.One);
    if (command === undefined) {
      // Where the mistake is, whether the server has found it yet or not.
      const mistake = document.positionAt(document.getText().lastIndexOf("T.cuda.cta_sync()"));
      editor.revealRange(new vscode.Range(mistake, mistake), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
      return;
    }
    // In the kernel, so that nothing has to be asked.
    const kernel = document.positionAt(document.getText().indexOf("T.device_entry()"));
    editor.selection = new vscode.Selection(kernel, kernel);
    await vscode.commands.executeCommand(command);
  }

  #diagnosticsChanged(uris: readonly vscode.Uri[]): void {
    const document = vscode.workspace.textDocuments.find(({ uri }) => uri.toString() === this.#sample.toString());
    if (document === undefined || !uris.some((uri) => uri.toString() === this.#sample.toString())) {
      return;
    }
    const count = vscode.languages.getDiagnostics(this.#sample).filter(({ source }) => source === "tirx-lens").length;
    if (count > 0) {
      this.#wasBroken = true;
    } else if (this.#wasBroken && document.getText().includes("@T.prim_func")) {
      this.#tick("sampleFixed");
    }
  }

  #tabOpened({ input }: vscode.Tab): void {
    if (input instanceof vscode.TabInputText && input.uri.scheme === SCHEME) {
      this.#tick("cudaShown");
    } else if (input instanceof vscode.TabInputWebview) {
      // VS Code puts words of its own before the type.
      if (input.viewType.endsWith("tirx-lens.timeline")) {
        this.#tick("timelineShown");
      } else if (input.viewType.endsWith("tirx-lens.worksheet")) {
        this.#tick("worksheetShown");
      }
    }
  }

  #tick(step: Done): void {
    if (!this.#done.has(step)) {
      this.#done.add(step);
      void vscode.commands.executeCommand("setContext", `tirx-lens.${step}`, true);
    }
  }
}

async function exists(uri: vscode.Uri): Promise<boolean> {
  try {
    await vscode.workspace.fs.stat(uri);
    return true;
  } catch {
    return false;
  }
}
