/** "Show Generated CUDA", and keeping what it shows up to date. */
import { randomUUID } from "node:crypto";
import * as path from "node:path";
import * as vscode from "vscode";
import { WorkDoneProgress } from "vscode-languageclient/node";
import { sourceOf, textOf, type Place } from "../notebooks";
import { cudaRequest, type Choice, type Cuda, type CudaParams, type CudaResult, type Failed } from "../protocol";
import type { Supervisor } from "../server/supervisor";
import type { TargetPicker } from "../targets/picker";
import { command, notify, show, type Button } from "../ui/notify";
import { plain } from "../ui/plain";
import { askArguments, askArgumentSet, askBuilder, askConfig } from "./ask";
import type { Architecture } from "./architecture";
import { lastChoice, remember } from "./choices";
import { failureButtons, sentence, whyNot } from "./failures";
import { editedSince } from "./staleness";
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
    readonly targets: TargetPicker,
    readonly log: vscode.LogOutputChannel,
  ) {}

  /** Build the kernel at the cursor and show its CUDA beside it, asking for what is missing. */
  async showBeside(editor: Place | undefined): Promise<void> {
    if (editor?.document.languageId !== "python") {
      await show("information", "Open a Python file with a TIRx kernel first, then ask for its CUDA.");
      return;
    }
    const { line, character } = editor.selection.active;
    const position = { line, character };
    await this.#show(sourceOf(editor.document.uri), { textDocument: { uri: editor.document.uri.toString() }, position });
  }

  /** Build a builder's kernel as it was last chosen and show its CUDA, asking for what is missing. */
  async showBuilder(source: vscode.Uri, builder: string): Promise<void> {
    const { config, argumentSet, answers } = this.#last(source, builder) ?? {};
    await this.#show(source, {
      textDocument: { uri: source.toString() },
      builder,
      ...(config === undefined ? {} : { config }),
      ...(argumentSet === undefined ? {} : { argumentSet }),
      ...(answers === undefined ? {} : { answers }),
    });
  }

  async #show(source: vscode.Uri, asked: CudaParams): Promise<void> {
    if (!vscode.workspace.isTrusted) {
      await show("warning", UNTRUSTED, command("Manage Workspace Trust", "workbench.trust.manage"));
      return;
    }
    let params = asked;
    for (;;) {
      const builtFrom = textOf(source);
      const result = await this.#buildWithProgress(path.posix.basename(source.path), params);
      if (result === undefined) {
        return;
      }
      switch (result.kind) {
        case "cuda":
          await this.#open(source, result, params, builtFrom);
          return;
        case "failed":
          this.#markStale(source, result);
          await this.#tellFailure(result, () => this.#show(source, asked));
          return;
        case "confirmTarget":
          if (!(await this.targets.confirm(result, source))) {
            return;
          }
          break;
        case "choose": {
          const builder = await askBuilder(result.builders, "Show Generated CUDA");
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
    const builtFrom = textOf(view.source);
    const options = { location: vscode.ProgressLocation.Window, title: `CUDA of ${view.builder}` };
    try {
      const result = await vscode.window.withProgress(options, (progress) =>
        this.#build(params, progress, cancellation.token),
      );
      if (result !== undefined && !cancellation.token.isCancellationRequested) {
        await this.#take({ ...view, builtFrom }, view, result);
      }
    } finally {
      if (this.#refreshing.get(key) === cancellation) {
        this.#refreshing.delete(key);
      }
      cancellation.dispose();
    }
  }

  /** Put what a build gave in the place of a view: `built` is what it becomes where it went well. */
  async #take(built: View, view: View, result: CudaResult): Promise<void> {
    if (result.kind === "cuda") {
      // The name tells the arguments, which the source may have changed.
      const uri = viewUri(view.source, result.builder, this.#title(result));
      const previous = result.text === view.cuda.text ? view.previous : view.cuda.text;
      const stale = editedSince(built, textOf(view.source));
      const next = { ...built, uri, cuda: result, previous, stale };
      await this.#remember({ ...sameBuild(next), textDocument: { uri: next.source.toString() } }, result);
      if (uri.toString() === view.uri.toString()) {
        this.views.put(next);
      } else {
        await this.views.replace(view, next);
      }
      return;
    }
    const reason = whyNot(result, view.builder);
    const first = view.stale?.failed !== true;
    this.views.put({ ...view, stale: { reason, failed: true } });
    const message = `${sentence(reason)} The CUDA shown is that of the last good build.`;
    if (first) {
      const retry = (): Promise<void> => this.retry(view.uri);
      const confirm = command("Choose Target", "tirx-lens.chooseTarget");
      const buttons = result.kind === "failed" ? this.#buttons(result, retry) : [];
      notify(this.log, "warning", message, ...(result.kind === "confirmTarget" ? [confirm] : buttons));
    } else {
      this.log.warn(message);
    }
  }

  /** Build a view again that could not be built, or whose source was edited. */
  async retry(uri: vscode.Uri | undefined): Promise<void> {
    const view = uri === undefined ? undefined : (this.views.partOf(uri)?.view ?? this.#viewOf(uri));
    if (view !== undefined) {
      // Told anew where it fails again: the user has asked.
      await this.#refreshView({ ...view, stale: view.stale && { ...view.stale, failed: false } });
    }
  }

  /** Nothing is lost where a build fails: what an earlier one gave stays, and says that it is old. */
  #markStale(source: vscode.Uri, { builder, message }: Failed): void {
    for (const view of this.views.openViewsOf(source).filter((each) => each.builder === builder)) {
      this.views.put({ ...view, stale: { reason: message, failed: true } });
    }
  }

  async #open(source: vscode.Uri, cuda: Cuda, params: CudaParams, builtFrom: string | undefined): Promise<void> {
    const uri = viewUri(source, cuda.builder, this.#title(cuda));
    const old = this.views.of(uri);
    const previous = old === undefined || old.cuda.text === cuda.text ? old?.previous : old.cuda.text;
    const stale = editedSince({ source, builtFrom }, textOf(source));
    const asked = vscode.Uri.parse(params.textDocument.uri);
    const view = { uri, source, asked, builder: cuda.builder, given: params.answers, cuda, previous, builtFrom, stale };
    this.views.put(view);
    await this.#remember({ ...params, textDocument: { uri: source.toString() } }, cuda);
    await this.views.reveal(view);
    for (const note of cuda.notes) {
      this.log.warn(note);
    }
  }

  /** The first view that is open of a document, or of the notebook that it is a cell of. */
  #viewOf(uri: vscode.Uri): View | undefined {
    return this.views.openViewsOf(sourceOf(uri))[0];
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
  async compareWithPrevious(editor: Place | undefined): Promise<void> {
    const uri = editor?.document.uri;
    const view = uri === undefined ? undefined : (this.views.of(uri) ?? this.#viewOf(uri));
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
  async showMachineCode(part: "ptx" | "sass", editor: Place | undefined): Promise<void> {
    const uri = editor?.document.uri;
    let view = uri === undefined ? undefined : (this.views.partOf(uri)?.view ?? this.#viewOf(uri));
    if (view === undefined && editor?.document.languageId === "python") {
      await this.showBeside(editor);
      view = this.#viewOf(editor.document.uri);
    }
    if (view === undefined) {
      return;
    }
    const params: CudaParams = { ...sameBuild(view), machineCode: true };
    const builtFrom = textOf(view.source);
    const result = await this.#buildWithProgress(path.posix.basename(view.source.path), params);
    if (result === undefined) {
      return;
    }
    await this.#take({ ...view, builtFrom }, view, result);
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
      return { kind: "failed", message: this.#whyNoServer(), detail: "", canRetry: true };
    }
    const workDoneToken = randomUUID();
    const steps = session.client.onProgress(WorkDoneProgress.type, workDoneToken, (step) => {
      if (step.kind !== "end" && step.message !== undefined) {
        progress.report({ message: plain(step.message) });
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
      return { kind: "failed", message: `The server could not answer: ${message}`, detail: "", canRetry: true };
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

  async #tellFailure(failure: Failed, retry?: () => unknown): Promise<void> {
    this.log.error(failure.message);
    await show("error", failure.message, ...this.#buttons(failure, retry));
  }

  #buttons(failure: Failed, retry?: () => unknown): readonly Button[] {
    return failureButtons(failure, retry, this.supervisor, this.log);
  }
}

/** The request for what a view shows, built anew. */
function sameBuild(view: View): CudaParams {
  const { config, argumentSet } = view.cuda;
  // A cell that is gone is in no notebook: then the notebook's own is meant.
  const isThere = sourceOf(view.asked).toString() === view.source.toString();
  return {
    textDocument: { uri: (isThere ? view.asked : view.source).toString() },
    builder: view.builder,
    ...(view.given === undefined ? {} : { answers: view.given }),
    ...(config === null ? {} : { config }),
    ...(argumentSet === null ? {} : { argumentSet }),
  };
}
