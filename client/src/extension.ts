/** The extension's entry: makes the parts and connects them to VS Code's events. */
import * as vscode from "vscode";
import type { Position } from "vscode-languageclient/node";
import { checkAllFiles, clearAllFiles } from "./allFiles";
import { Architecture } from "./cuda/architecture";
import { chooseArguments } from "./cuda/chooseArguments";
import { CudaGenerator } from "./cuda/generate";
import { CudaLanguage } from "./cuda/language";
import { LinkedCursor } from "./cuda/linkedCursor";
import { ResourcePanel } from "./cuda/resources";
import { Staleness } from "./cuda/staleness";
import { Views } from "./cuda/views";
import { builderOf, goToFinding } from "./lenses";
import { activePlace, sourceOf } from "./notebooks";
import { reportProblem } from "./problem";
import { onActiveInterpreterChanged } from "./python/extension";
import { chooseInterpreter } from "./python/pick";
import { Supervisor } from "./server/supervisor";
import { needsRestart, readSettings } from "./settings";
import { SuspectPanels } from "./suspects";
import { TargetPicker } from "./targets/picker";
import { targetMemory } from "./targets/workspace";
import { TimelinePanels } from "./timeline/panels";
import { trackTirxFiles } from "./ui/context";
import { printDebugInformation } from "./ui/debugInformation";
import { StatusItem } from "./ui/status";
import { Walkthrough } from "./welcome/walkthrough";
import { WorksheetPanels } from "./worksheet";

/** What `deactivate` has to wait for; VS Code calls it with no arguments. */
let running: Supervisor | undefined;

export function activate(context: vscode.ExtensionContext): void {
  const channels = {
    extension: vscode.window.createOutputChannel("TIRx Lens", { log: true }),
    server: vscode.window.createOutputChannel("TIRx Lens Server", { log: true }),
  };
  const item = new StatusItem();
  const walkthrough = new Walkthrough(context);
  const supervisor = new Supervisor(context, channels, item, (status) => walkthrough.tvmFound(status.tvmVersion));
  running = supervisor;
  const views = new Views();
  const architecture = new Architecture(context.workspaceState);
  const targets = new TargetPicker(supervisor, targetMemory(context));
  const cuda = new CudaGenerator(
    supervisor,
    views,
    context.workspaceState,
    architecture,
    targets,
    channels.extension,
  );
  const { registerCommand } = vscode.commands;
  const linkedCursor = new LinkedCursor(views);
  const worksheets = new WorksheetPanels(supervisor);
  const timelines = new TimelinePanels(supervisor, context.extensionUri);
  const suspects = new SuspectPanels(supervisor);

  context.subscriptions.push(
    channels.extension,
    channels.server,
    item,
    views,
    cuda,
    new CudaLanguage(views),
    new ResourcePanel(views),
    new Staleness(views),
    linkedCursor,
    worksheets,
    timelines,
    suspects,
    trackTirxFiles(),
    walkthrough,
    registerCommand("tirx-lens.chooseInterpreter", () => chooseInterpreter(channels.extension)),
    registerCommand("tirx-lens.findSuspects", () => suspects.showBeside(activePlace())),
    registerCommand("tirx-lens.reportProblem", () => reportProblem(supervisor, activePlace())),
    registerCommand("tirx-lens.showWorksheet", (...given: unknown[]) => {
      const meant = builderOf(given);
      return meant === undefined
        ? worksheets.showBeside(activePlace())
        : worksheets.show(meant.source, meant);
    }),
    registerCommand("tirx-lens.showTimeline", (...given: unknown[]) => {
      const meant = builderOf(given);
      return meant === undefined
        ? timelines.showBeside(activePlace())
        : timelines.show(meant.source, meant);
    }),
    registerCommand("tirx-lens.showGeneratedCuda", async (...given: unknown[]) => {
      const meant = builderOf(given);
      await (meant === undefined
        ? cuda.showBeside(activePlace())
        : cuda.showBuilder(meant.source, meant.builder));
      linkedCursor.reveal();
    }),
    registerCommand("tirx-lens.chooseArguments", async (...given: unknown[]) => {
      const meant = builderOf(given) ?? atCursor();
      if (meant !== undefined && (await chooseArguments(supervisor, context.workspaceState, meant))) {
        await Promise.all([cuda, worksheets, timelines, suspects].map((shown) => shown.refresh(sourceOf(meant.source))));
      }
    }),
    registerCommand("tirx-lens.goToFinding", goToFinding),
    registerCommand("tirx-lens.compareWithPreviousBuild", () => cuda.compareWithPrevious(activePlace())),
    registerCommand("tirx-lens.showPtx", () => showMachineCode("ptx")),
    registerCommand("tirx-lens.showSass", () => showMachineCode("sass")),
    registerCommand("tirx-lens.chooseArchitecture", async () => {
      if (await architecture.choose()) {
        await cuda.refreshAll();
      }
    }),
    registerCommand("tirx-lens.chooseTarget", async () => {
      if (await targets.choose(activeSource())) {
        await cuda.refreshAll();
      }
    }),
    registerCommand("tirx-lens.checkTargets", () => targets.check(activeSource())),
    registerCommand("tirx-lens.retryBuild", (uri?: vscode.Uri) =>
      cuda.retry(uri ?? activePlace()?.document.uri),
    ),
    registerCommand("tirx-lens.checkAllFiles", () => checkAllFiles(supervisor)),
    registerCommand("tirx-lens.clearAllFiles", () => clearAllFiles(supervisor)),
    registerCommand("tirx-lens.restart", () => supervisor.restart(true)),
    registerCommand("tirx-lens.showLogs", () => channels.extension.show()),
    registerCommand("tirx-lens.showServerLogs", () => channels.server.show()),
    registerCommand("tirx-lens.printDebugInformation", () => printDebugInformation(supervisor)),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (needsRestart(event)) {
        void supervisor.restart(true);
      }
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => {
      void supervisor.trustGranted();
      void followPythonExtension();
    }),
    vscode.window.onDidChangeWindowState(({ focused }) => {
      if (focused) {
        void supervisor.focused();
      }
    }),
    vscode.workspace.onDidSaveTextDocument((document) => void cuda.refresh(document.uri)),
    vscode.workspace.onDidSaveNotebookDocument((notebook) => void cuda.refresh(notebook.uri)),
  );

  /** The place of the cursor in the Python file in front. */
  function atCursor(): { readonly source: vscode.Uri; readonly position: Position } | undefined {
    const editor = activePlace();
    if (editor?.document.languageId !== "python") {
      return undefined;
    }
    const { line, character } = editor.selection.active;
    return { source: editor.document.uri, position: { line, character } };
  }

  /** The Python file in front, or that of the CUDA in front. */
  function activeSource(): vscode.Uri | undefined {
    const document = activePlace()?.document;
    const shown = document && views.partOf(document.uri);
    return shown?.view.source ?? (document?.languageId === "python" ? sourceOf(document.uri) : undefined);
  }

  async function showMachineCode(part: "ptx" | "sass"): Promise<void> {
    await cuda.showMachineCode(part, activePlace());
    linkedCursor.reveal();
  }

  /** Start anew when another interpreter is chosen in the Python extension and counts here. */
  async function followPythonExtension(): Promise<void> {
    const changed = (): void => {
      if (readSettings().interpreter.length === 0) {
        void supervisor.restart(true);
      }
    };
    const subscription = await onActiveInterpreterChanged(changed, channels.extension);
    if (subscription !== undefined) {
      context.subscriptions.push(subscription);
    }
  }

  void supervisor.restart(true);
  if (vscode.workspace.isTrusted) {
    void followPythonExtension();
  }
}

export async function deactivate(): Promise<void> {
  await running?.dispose();
  running = undefined;
}
