/** One run of the server, from its start to its end. */
import { spawn, type ChildProcess } from "node:child_process";
import * as readline from "node:readline";
import type * as vscode from "vscode";
import {
  CloseAction,
  ErrorAction,
  LanguageClient,
  RevealOutputChannelOn,
  type LanguageClientOptions,
} from "vscode-languageclient/node";
import { NOTEBOOK_TYPES } from "../notebooks";
import { SECTION } from "../settings";
import type { Launch } from "./launch";
import { isSentAsMessage, parseLogLine } from "./log";

const START_LIMIT_MS = 60_000;
const STOP_LIMIT_MS = 3_000;

/** A client that leaves it to the supervisor to tell the user of errors, and only logs them. */
class QuietClient extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}

/** A run of the server. Its end, when nobody asked for it, is told to `ended` once. */
export class Session {
  readonly client: LanguageClient;
  readonly #log: vscode.LogOutputChannel;
  readonly #ended: (reason: string) => void;
  #process: ChildProcess | undefined;
  #lastWords = "";
  #stopping = false;
  #running = false;
  #exit: Promise<string> = Promise.resolve("");

  constructor(
    readonly launch: Launch,
    log: vscode.LogOutputChannel,
    ended: (reason: string) => void,
  ) {
    this.#log = log;
    this.#ended = ended;
    this.client = new QuietClient(SECTION, "TIRx Lens", () => this.#spawn(), this.#options());
  }

  get processId(): number | undefined {
    return this.#process?.pid;
  }

  /**
   * Start the server and wait until it answers.
   *
   * @throws Error that says why it did not start, in the server's own last words where it had any.
   */
  async start(): Promise<void> {
    const limit = timeout(START_LIMIT_MS, `it did not answer within ${START_LIMIT_MS / 1000} s`);
    try {
      await Promise.race([this.#startClient(), limit.expired]);
      this.#running = true;
    } catch (error) {
      await this.stop();
      throw error;
    } finally {
      limit.clear();
    }
  }

  /** Ask the server to end, and end it where it does not. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#running = false;
    try {
      await this.client.dispose(STOP_LIMIT_MS);
    } catch (error) {
      this.#log.debug(`The server did not shut down in order: ${String(error)}`);
    }
    this.#process?.kill();
  }

  async #startClient(): Promise<void> {
    try {
      await this.client.start();
    } catch (error) {
      // The end of the process says more than the connection that broke with it.
      const reason = await Promise.race([this.#exit, delay(1_000)]);
      throw reason === undefined || reason === "" ? error : new Error(reason);
    }
  }

  #spawn(): Promise<ChildProcess> {
    const { program, args, cwd } = this.launch;
    this.#log.info(`Starting: ${[program, ...args].join(" ")}`);
    const child = spawn(program, args, { cwd, stdio: ["pipe", "pipe", "pipe"], windowsHide: true });
    this.#process = child;
    this.#exit = new Promise((resolve) => {
      child.once("error", (error) => resolve(`${program} could not be started: ${error.message}`));
      child.once("close", (code, signal) => {
        const how = signal === null ? `with exit code ${code ?? 0}` : `by signal ${signal}`;
        resolve(`it ended ${how}${this.#lastWords === "" ? "" : `: ${this.#lastWords}`}`);
      });
    });
    void this.#exit.then((reason) => {
      if (this.#running && !this.#stopping) {
        this.#running = false;
        this.#ended(reason);
      }
    });
    return new Promise((resolve, reject) => {
      child.once("spawn", () => resolve(child));
      child.once("error", reject);
    });
  }

  #options(): LanguageClientOptions & { stdioOptions: object } {
    const lines = (input: NodeJS.ReadableStream): void => {
      readline.createInterface({ input, crlfDelay: Infinity }).on("line", (text) => {
        const line = parseLogLine(text);
        if (line.message.trim() !== "") {
          this.#lastWords = line.message.trim();
        }
        if (!(this.#running && isSentAsMessage(line))) {
          this.#log[line.level](line.message);
        }
      });
    };
    return {
      documentSelector: [
        { language: "python", scheme: "file" },
        { language: "python", scheme: "untitled" },
        ...NOTEBOOK_TYPES.map((notebook) => ({ notebook, language: "python" })),
        { scheme: "file", pattern: "**/pyproject.toml" },
      ],
      initializationOptions: this.launch.options,
      outputChannel: this.#log,
      traceOutputChannel: this.#log,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      initializationFailedHandler: () => false,
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        // What to do when the server ends is decided where its process is watched.
        closed: () => ({ action: CloseAction.DoNotRestart, handled: true, message: "The connection closed." }),
      },
      stdioOptions: { stdout: lines, stderr: lines },
    };
  }
}

function delay(milliseconds: number): Promise<undefined> {
  return new Promise((resolve) => setTimeout(() => resolve(undefined), milliseconds));
}

function timeout(milliseconds: number, reason: string): { expired: Promise<never>; clear: () => void } {
  let timer: NodeJS.Timeout | undefined;
  const expired = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(reason)), milliseconds);
  });
  return { expired, clear: () => clearTimeout(timer) };
}
