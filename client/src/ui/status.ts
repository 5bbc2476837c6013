/** The language status item: what the server does, with which interpreter and TVM. */
import * as vscode from "vscode";
import { activePlace, sourceOf } from "../notebooks";
import type { FileVersion, ServerStatus } from "../protocol";
import { LOCAL } from "../targets/memory";
import { plain } from "./plain";

/** What can be said of the server without it. */
export type Life =
  | { readonly kind: "disabled" }
  | { readonly kind: "starting" }
  | { readonly kind: "running" }
  | { readonly kind: "stopped"; readonly reason: string };

export class StatusItem implements vscode.Disposable {
  readonly #item: vscode.LanguageStatusItem;
  readonly #versions = new Map<string, FileVersion>();
  readonly #follows: vscode.Disposable;
  #life: Life = { kind: "starting" };
  #status: ServerStatus | undefined;

  constructor() {
    this.#item = vscode.languages.createLanguageStatusItem("tirx-lens.status", { language: "python" });
    this.#item.name = "TIRx Lens";
    this.#follows = vscode.window.onDidChangeActiveTextEditor(() => this.#update());
    this.#update();
  }

  /** Show the server's life, and where it runs, what it said last. */
  show(life: Life, status: ServerStatus | undefined): void {
    if (life.kind !== "running" && life.kind !== this.#life.kind) {
      this.#versions.clear(); // the next server tells them anew
    }
    this.#life = life;
    this.#status = status;
    this.#update();
  }

  /** Show which TVM a document is held against, while it is the one in front. */
  showVersion(version: FileVersion): void {
    this.#versions.set(keyOf(vscode.Uri.parse(version.uri, true)), version);
    this.#update();
  }

  #update(): void {
    const [life, status] = [this.#life, this.#status];
    const document = activePlace()?.document.uri;
    const version = document === undefined ? undefined : this.#versions.get(keyOf(sourceOf(document)));
    const item = this.#item;
    item.busy = life.kind === "starting" || (life.kind === "running" && status?.state === "building");
    item.severity = severityOf(life, status);
    item.text = textOf(life, status, version);
    item.detail = detailOf(life, status, version);
    item.command = commandOf(life);
  }

  dispose(): void {
    this.#follows.dispose();
    this.#item.dispose();
  }
}

/** A document's URI as the server may have written it otherwise. */
function keyOf(uri: vscode.Uri): string {
  return uri.toString(true);
}

function commandOf(life: Life): vscode.Command {
  if (life.kind === "stopped") {
    return { title: "Restart", command: "tirx-lens.restart" };
  }
  return life.kind === "running" && vscode.workspace.isTrusted
    ? { title: "Choose Target", command: "tirx-lens.chooseTarget" }
    : { title: "Show Logs", command: "tirx-lens.showServerLogs" };
}

function severityOf(life: Life, status: ServerStatus | undefined): vscode.LanguageStatusSeverity {
  if (life.kind === "stopped") {
    return vscode.LanguageStatusSeverity.Error;
  }
  return life.kind === "running" && status?.state === "failed"
    ? vscode.LanguageStatusSeverity.Warning
    : vscode.LanguageStatusSeverity.Information;
}

function textOf(life: Life, status: ServerStatus | undefined, version: FileVersion | undefined): string {
  switch (life.kind) {
    case "disabled":
      return "TIRx Lens: off";
    case "starting":
      return "TIRx Lens: starting";
    case "stopped":
      return "TIRx Lens: stopped";
    case "running": {
      const shown = version?.version ?? status?.tvmVersion ?? undefined;
      return shown === undefined ? "TIRx Lens" : `TIRx Lens: TVM ${plain(shown)}`;
    }
  }
}

function detailOf(life: Life, status: ServerStatus | undefined, version: FileVersion | undefined): string {
  if (life.kind === "stopped") {
    return life.reason;
  }
  if (life.kind === "disabled") {
    return "tirx-lens.enable is off";
  }
  if (!vscode.workspace.isTrusted) {
    return joined([version?.detail, "static checks only: this workspace is not trusted"]);
  }
  const target = status === undefined || status.target === LOCAL ? status?.interpreter : `target ${status.target}`;
  // What is said of the file names where it is built, too.
  return joined([status?.message, version?.detail ?? target]);
}

function joined(parts: readonly (string | undefined)[]): string {
  return parts
    .filter((part) => part !== undefined && part !== "")
    .map((part) => plain(part ?? ""))
    .join(" · ");
}
