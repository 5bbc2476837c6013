/** Keeps the server running: starts, stops and restarts it, one thing after the other. */
import * as vscode from "vscode";
import type { RequestType } from "vscode-languageclient/node";
import {
  didFocusNotification,
  didGrantTrustNotification,
  fileVersionNotification,
  statusNotification,
  type Failed,
  type ServerStatus,
} from "../protocol";
import { command, notify, openMachineSettings } from "../ui/notify";
import type { Life, StatusItem } from "../ui/status";
import { Crashes } from "./crashes";
import { planLaunch, type Plan } from "./launch";
import { Session } from "./session";

export interface Channels {
  readonly extension: vscode.LogOutputChannel;
  readonly server: vscode.LogOutputChannel;
}

const RESTART = command("Restart Server", "tirx-lens.restart");
const SHOW_LOGS = command("Show Logs", "tirx-lens.showServerLogs");

export class Supervisor {
  readonly #crashes = new Crashes();
  #session: Session | undefined;
  #plan: Plan | undefined;
  #life: Life = { kind: "starting" };
  #status: ServerStatus | undefined;
  #queue: Promise<void> = Promise.resolve();
  #disposed = false;
  #told: readonly string[] = [];

  constructor(
    readonly context: vscode.ExtensionContext,
    readonly channels: Channels,
    readonly item: StatusItem,
    readonly heard: (status: ServerStatus) => void = () => undefined,
  ) {}

  /** The running server, or undefined. Waits for a start or restart under way. */
  async session(): Promise<Session | undefined> {
    await this.#queue;
    return this.#session;
  }

  /** Ask the server; what goes wrong on the way is a reply, too. Undefined where the user cancelled. */
  async ask<P, R>(
    type: RequestType<P, R | Failed, void>,
    params: P,
    token?: vscode.CancellationToken,
  ): Promise<R | Failed | undefined> {
    const session = await this.session();
    if (session === undefined) {
      return { kind: "failed", message: "The TIRx Lens server is not running.", detail: "" };
    }
    try {
      const more = token === undefined ? [] : [token]; // one that is undefined would be a parameter
      return await session.client.sendRequest<R | Failed>(type.method, params, ...more);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return token?.isCancellationRequested === true
        ? undefined
        : { kind: "failed", message: `The server could not answer: ${message}`, detail: "" };
    }
  }

  get life(): Life {
    return this.#life;
  }

  get plan(): Plan | undefined {
    return this.#plan;
  }

  get status(): ServerStatus | undefined {
    return this.#status;
  }

  /** Start the server, or start it anew. `asked` is whether the user did, and forgives crashes. */
  restart(asked: boolean): Promise<void> {
    if (asked) {
      this.#crashes.clear();
    }
    return this.#enqueue(async () => {
      await this.#stop();
      await this.#start();
    });
  }

  /** Tell the server of trust granted; start it anew where trust leads to another interpreter. */
  trustGranted(): Promise<void> {
    return this.#enqueue(async () => {
      const before = this.#session?.launch;
      const plan = await planLaunch(this.context, this.channels.extension);
      if (this.#session !== undefined && sameCommand(before, plan)) {
        this.#plan = plan;
        await this.#session.client.sendNotification(didGrantTrustNotification);
        this.#show({ kind: "running" });
      } else {
        await this.#stop();
        await this.#start();
      }
    });
  }

  /** Tell the running server, if there is one, that the user is back at the window. */
  async focused(): Promise<void> {
    try {
      await this.#session?.client.sendNotification(didFocusNotification);
    } catch (error) {
      this.channels.extension.debug(`The server was not told of the focus: ${String(error)}`);
    }
  }

  /** Stop the server for good. */
  dispose(): Promise<void> {
    this.#disposed = true;
    return this.#enqueue(() => this.#stop());
  }

  #enqueue(step: () => Promise<void>): Promise<void> {
    this.#queue = this.#queue.then(step).catch((error: unknown) => {
      this.channels.extension.error(error instanceof Error ? (error.stack ?? error.message) : String(error));
    });
    return this.#queue;
  }

  async #stop(): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    this.#status = undefined;
    await session?.stop();
  }

  async #start(): Promise<void> {
    if (this.#disposed) {
      return;
    }
    this.#show({ kind: "starting" });
    const plan = await planLaunch(this.context, this.channels.extension);
    this.#plan = plan;
    this.#tellWrongSettings(plan.settings.problems);
    if (!plan.settings.enable) {
      this.#show({ kind: "disabled" });
      return;
    }
    this.#tellInterpreterProblem(plan);
    if (plan.launch === undefined) {
      this.#show({ kind: "stopped", reason: "no Python was found that it runs on" });
      return;
    }
    const session = new Session(plan.launch, this.channels.server, (reason) => this.#ended(session, reason));
    session.client.onNotification(statusNotification, (status) => {
      this.#status = status;
      this.heard(status);
      this.#show(this.#life);
    });
    session.client.onNotification(fileVersionNotification, (version) => this.item.showVersion(version));
    try {
      await session.start();
      this.#session = session;
      this.#show({ kind: "running" });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#show({ kind: "stopped", reason });
      const message = `The TIRx Lens server did not start: ${reason}`;
      notify(this.channels.extension, "error", message, RESTART, SHOW_LOGS);
    }
  }

  /** Tell of values that cannot be used, each once until it is mended. */
  #tellWrongSettings(problems: readonly string[]): void {
    const news = problems.filter((problem) => !this.#told.includes(problem));
    this.#told = problems;
    if (news.length > 0) {
      const message = `TIRx Lens: ${news.join(". ")}.`;
      notify(this.channels.extension, "warning", message, openMachineSettings("tirx-lens"));
    }
  }

  #tellInterpreterProblem(plan: Plan): void {
    const log = this.channels.extension;
    plan.choice.problems.forEach((problem) => log.warn(problem));
    const settings = openMachineSettings("tirx-lens.interpreter");
    if (plan.launch === undefined) {
      const tried = plan.choice.problems.length === 0 ? "PATH has none." : plan.choice.problems.join(" ");
      notify(log, "error", `TIRx Lens needs CPython 3.10 to 3.14 to run on, or tirx-lens installed for a newer one. ${tried}`, settings, RESTART);
    } else if (plan.choice.chosenProblem !== undefined) {
      const rest = "Kernels are still checked, but no CUDA can be built.";
      notify(log, "error", `The kernel interpreter ${plan.choice.chosenProblem} ${rest}`, settings);
    }
  }

  #ended(session: Session, reason: string): void {
    if (session !== this.#session) {
      return;
    }
    const { restart, pauseMs, count } = this.#crashes.record(Date.now());
    const log = this.channels.extension;
    if (restart) {
      // Once is enough: what comes after it within minutes is most likely the same.
      const message = `The TIRx Lens server stopped and was started again: ${reason}`;
      notify(log, count === 1 ? "warning" : "information", message, SHOW_LOGS);
      this.#show({ kind: "starting" });
      void this.#enqueue(() => delay(pauseMs));
      void this.restart(false);
      return;
    }
    void this.#enqueue(async () => {
      await this.#stop();
      this.#show({ kind: "stopped", reason });
    });
    const message = `The TIRx Lens server stopped ${count} times in 3 minutes, the last time because ${reason}`;
    notify(log, "error", message, RESTART, SHOW_LOGS);
  }

  #show(life: Life): void {
    this.#life = life;
    this.item.show(life, this.#status);
  }
}

function delay(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

function sameCommand(before: Session["launch"] | undefined, plan: Plan): boolean {
  const key = (launch: Session["launch"] | undefined): string =>
    JSON.stringify([launch?.program, launch?.args, launch?.options.settings]);
  return plan.settings.enable && key(before) === key(plan.launch);
}
