/** "Show Generated CUDA", and keeping what it shows up to date. */
import { randomUUID } from "node:crypto";
import * as path from "node:path";
import * as vscode from "vscode";
import { WorkDoneProgress } from "vscode-languageclient/node";
import { cudaRequest, type Choice, type Cuda, type CudaParams, type CudaResult, type Failed } from "../protocol";
import type { Supervisor } from "../server/supervisor";
import { command, notify, openMachineSettings, show, type Button } from "../ui/notify";
import { askArguments, askArgumentSet, askBuilder, askConfig } from "./ask";
import type { Architecture } from "./architecture";
import { lastChoice, remember } from "./choices";
import { previousUri, viewUri, type View, type Views } from "./views";

type Progress = vscode.Progress<{ readonly message: string }>;

const UNTRUSTED =
  "Showing generated CUDA runs the Python code of this file. This workspace is not trusted, so nothing was run.";

export class CudaGenerator implements vscode.Disposable {
  readonly #refreshing = new Map<string, vscode.CancellationTokenSource>();

  constructor(
    readonly supervisor: Supervisor,
    readonly views: Views,
    readonly memory: vscode.Memento,
    readonly architecture: Architecture,
    readonly log: vscode.LogOutputChannel,
  ) {}

  /** Build the kernel at the cursor and show its CUDA beside it, asking for what is missing. */
  async showBeside(editor: vscode.TextEditor | undefined): Promise<void> {
    if (editor?.document.languageId !== "python") {
      await show("information", "Open a Python file with a TIRx kernel first, then ask for its CUDA.");
      return;
    }
    if (!vscode.workspace.isTrusted) {
      await show("warning", UNTRUSTED, command("Manage Workspace Trust", "workbench.trust.manage"));
      return;
    }
    const source = editor.document.uri;
    const position = { line: editor.selection.active.line, character: editor.selection.active.character };
    let params: CudaParams = { textDocument: { uri: source.toString() }, position };
    for (;;) {
      const result = await this.#buildWithProgress(path.posix.basename(source.path), params);
      if (result === undefined) {
        return;
      }
      switch (result.kind) {
        case "cuda":
          await this.#open(source, result, params);
          return;
        case "failed":
          await this.#tellFailure(result);
          return;
        case "choose": {
          const builder = await askBuilder(result.builders);
          if (builder === undefined) {
            return;
          }
          params = { ...params, builder };
          break;
        }
        case "chooseConfig": {
          const config = await askConfig(result, this.#last(source, result.builder)?.config);
          if (config === undefined) {
            return;
          }
          params = { ...params, builder: result.builder, config };
          break;
        }
        case "chooseArguments": {
          const argumentSet = await askArgumentSet(result, this.#last(source, result.builder)?.argumentSet);
          if (argumentSet === undefined) {
            return;
          }
          params = { ...params, builder: result.builder, argumentSet };
          break;
        }
        case "needArguments": {
          const given = await askArguments(result, source, this.memory);
          if (given === undefined) {
            return;
          }
          params = { ...params, builder: result.builder, answers: given };
        }
      }
    }
  }

  /** Build the open views of a source again. A build of an older save is given up. */
  async refresh(source: vscode.Uri): Promise<void> {
    await Promise.all(this.views.openViewsOf(source).map((view) => this.#refreshView(view)));
  }

  dispose(): void {
    this.#refreshing.forEach((token) => token.cancel());
  }

  async #refreshView(view: View): Promise<void> {
    const key = view.uri.toString();
    this.#refreshing.get(key)?.cancel();
    const cancellation = new vscode.CancellationTokenSource();
    this.#refreshing.set(key, cancellation);
    const params: CudaParams = { ...sameBuild(view), machineCode: this.views.showsMachineCode(view) };
    const options = { location: vscode.ProgressLocation.Window, title: `CUDA of ${view.builder}` };
    try {
      const result = await vscode.window.withProgress(options, (progress) =>
        this.#build(params, progress, cancellation.token),
      );
      if (result !== undefined && !cancellation.token.isCancellationRequested) {
        await this.#take(view, result);
      }
    } finally {
      if (this.#refreshing.get(key) === cancellation) {
        this.#refreshing.delete(key);
      }
      cancellation.dispose();
    }
  }

  async #take(view: View, result: CudaResult): Promise<void> {
    if (result.kind === "cuda") {
      // The name tells the arguments, which the source may have changed.
      const uri = viewUri(view.source, result.builder, this.#title(result));
      const previous = result.text === view.cuda.text ? view.previous : view.cuda.text;
      const next = { ...view, uri, cuda: result, previous, stale: undefined };
      await this.#remember(sameBuild(next), result);
      if (uri.toString() === view.uri.toString()) {
        this.views.put(next);
      } else {
        await this.views.replace(view, next);
      }
      return;
    }
    const reason = whyNot(result, view.builder);
    const first = view.stale === undefined;
    this.views.put({ ...view, stale: reason });
    const message = `${sentence(reason)} The CUDA shown is that of the last good build.`;
    if (first) {
      notify(this.log, "warning", message, ...(result.kind === "failed" ? this.#buttons(result) : []));
    } else {
      this.log.warn(message);
    }
  }

  async #open(source: vscode.Uri, cuda: Cuda, params: CudaParams): Promise<void> {
    const uri = viewUri(source, cuda.builder, this.#title(cuda));
    const old = this.views.of(uri);
    const previous = old === undefined || old.cuda.text === cuda.text ? old?.previous : old.cuda.text;
    const view = { uri, source, builder: cuda.builder, given: params.answers, cuda, previous, stale: undefined };
    this.views.put(view);
    await this.#remember(params, cuda);
    await this.views.reveal(view);
    for (const note of cuda.notes) {
      this.log.warn(note);
    }
  }

  #last(source: vscode.Uri, builder: string): Choice | undefined {
    return lastChoice(this.memory, source.toString(), builder);
  }

  async #remember(params: CudaParams, cuda: Cuda): Promise<void> {
    const { chosen } = this.architecture;
    await remember(this.memory, { ...params, ...(chosen === undefined ? {} : { arch: chosen }) }, cuda.builder);
  }

  /** Builder and arguments; the architecture too, where it is not that of the settings. */
  #title(cuda: Cuda): string {
    return this.architecture.chosen === undefined ? cuda.title : `${cuda.title} ${cuda.target}`;
  }

  /** Show what the newest build of the active CUDA, or of the active source's, has changed. */
  async compareWithPrevious(editor: vscode.TextEditor | undefined): Promise<void> {
    const uri = editor?.document.uri;
    const view = uri === undefined ? undefined : (this.views.of(uri) ?? this.views.openViewsOf(uri)[0]);
    if (view === undefined) {
      await show("information", "Show the generated CUDA of a kernel first; it is compared after its next build.");
    } else if (view.previous === undefined) {
      await show("information", `The CUDA of ${view.builder} has not changed since it was first shown.`);
    } else {
      const name = path.posix.basename(view.uri.path);
      await vscode.commands.executeCommand("vscode.diff", previousUri(view.uri), view.uri, `${name}: previous build ↔ now`);
    }
  }

  /** Show the PTX or the SASS of the active CUDA, or of the active source's, linked to both. */
  async showMachineCode(part: "ptx" | "sass", editor: vscode.TextEditor | undefined): Promise<void> {
    const uri = editor?.document.uri;
    let view = uri === undefined ? undefined : (this.views.partOf(uri)?.view ?? this.views.openViewsOf(uri)[0]);
    if (view === undefined && editor?.document.languageId === "python") {
      await this.showBeside(editor);
      view = this.views.openViewsOf(editor.document.uri)[0];
    }
    if (view === undefined) {
      return;
    }
    const params: CudaParams = { ...sameBuild(view), machineCode: true };
    const result = await this.#buildWithProgress(path.posix.basename(view.source.path), params);
    if (result === undefined) {
      return;
    }
    await this.#take(view, result);
    if (result.kind !== "cuda") {
      return;
    }
    const { machine } = result;
    const problem = machine === null ? "No machine code came back." : machine.problem;
    if (problem !== null) {
      await this.#tellFailure({ kind: "failed", message: problem, detail: machine?.detail ?? "" });
      return;
    }
    const current = this.views.of(viewUri(view.source, result.builder, this.#title(result)));
    if (current !== undefined) {
      await this.views.revealPart(current, part);
    }
  }

  /** Build all open views again, for another architecture say. */
  async refreshAll(): Promise<void> {
    await Promise.all(this.views.open().map((view) => this.#refreshView(view)));
  }

  #buildWithProgress(name: string, params: CudaParams): Thenable<CudaResult | undefined> {
    const options = {
      location: vscode.ProgressLocation.Notification,
      title: `CUDA of ${name}`,
      cancellable: true,
    };
    return vscode.window.withProgress(options, (progress, token) => this.#build(params, progress, token));
  }

  /** Ask the server; undefined where the request was given up. */
  async #build(
    params: CudaParams,
    progress: Progress,
    token: vscode.CancellationToken,
  ): Promise<CudaResult | undefined> {
    const session = await this.supervisor.session();
    if (session === undefined) {
      return { kind: "failed", message: this.#whyNoServer(), detail: "" };
    }
    const workDoneToken = randomUUID();
    const steps = session.client.onProgress(WorkDoneProgress.type, workDoneToken, (step) => {
      if (step.kind !== "end" && step.message !== undefined) {
        progress.report({ message: step.message });
      }
    });
    try {
      const arch = this.architecture.chosen;
      const asked = { ...params, ...(arch === undefined ? {} : { arch }), workDoneToken };
      return await session.client.sendRequest(cudaRequest, asked, token);
    } catch (error) {
      if (token.isCancellationRequested) {
        return undefined;
      }
      const message = error instanceof Error ? error.message : String(error);
      return { kind: "failed", message: `The server could not answer: ${message}`, detail: "" };
    } finally {
      steps.dispose();
    }
  }

  #whyNoServer(): string {
    const life = this.supervisor.life;
    switch (life.kind) {
      case "disabled":
        return 'TIRx Lens is off: the setting "tirx-lens.enable" is false.';
      case "stopped":
        return `The TIRx Lens server is not running: ${life.reason}`;
      default:
        return "The TIRx Lens server is not running.";
    }
  }

  async #tellFailure(failure: Failed): Promise<void> {
    this.log.error(failure.message);
    await show("error", failure.message, ...this.#buttons(failure));
  }

  #buttons(failure: Failed): readonly Button[] {
    const { file, line = 0, column = 0, detail, document } = failure;
    const buttons: Button[] = [];
    if (file !== undefined) {
      const place = new vscode.Position(line, column);
      buttons.push({
        title: "Go to Place",
        run: () =>
          vscode.window.showTextDocument(vscode.Uri.file(file), { selection: new vscode.Range(place, place) }),
      });
    }
    if (detail !== "") {
      buttons.push({
        title: "Show Whole Message",
        run: () => {
          if (document !== undefined) {
            return vscode.window.showTextDocument(vscode.Uri.parse(document, true));
          }
          this.log.error(detail);
          this.log.show(true);
          return undefined;
        },
      });
    }
    if (this.supervisor.life.kind === "stopped") {
      buttons.push(command("Restart Server", "tirx-lens.restart"));
    }
    if (this.supervisor.status?.state === "failed") {
      buttons.push(openMachineSettings("tirx-lens.interpreter"));
    }
    return buttons;
  }
}

/** The request for what a view shows, built anew. */
function sameBuild(view: View): CudaParams {
  const { config, argumentSet } = view.cuda;
  return {
    textDocument: { uri: view.source.toString() },
    builder: view.builder,
    ...(view.given === undefined ? {} : { answers: view.given }),
    ...(config === null ? {} : { config }),
    ...(argumentSet === null ? {} : { argumentSet }),
  };
}

/** Why a builder's CUDA could not be built again, as a sentence. */
function whyNot(result: Exclude<CudaResult, Cuda>, builder: string): string {
  switch (result.kind) {
    case "failed":
      return result.message;
    case "choose":
      return `${builder} is no longer in the file.`;
    case "chooseConfig":
      return `${builder} has other configurations now.`;
    case "chooseArguments":
      return `${builder} is given other sets of arguments now.`;
    case "needArguments":
      return `${builder} needs arguments that nothing gives.`;
  }
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
