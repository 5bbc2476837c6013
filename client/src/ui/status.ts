/** The language status item: what the server does, with which interpreter and TVM. */
import * as vscode from "vscode";
import type { ServerStatus } from "../protocol";
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

  constructor() {
    this.#item = vscode.languages.createLanguageStatusItem("tirx-lens.status", { language: "python" });
    this.#item.name = "TIRx Lens";
    this.show({ kind: "starting" }, undefined);
  }

  /** Show the server's life, and where it runs, what it said last. */
  show(life: Life, status: ServerStatus | undefined): void {
    const item = this.#item;
    item.busy = life.kind === "starting" || (life.kind === "running" && status?.state === "building");
    item.severity = severityOf(life, status);
    item.text = textOf(life, status);
    item.detail = detailOf(life, status);
    item.command = commandOf(life);
  }

  dispose(): void {
    this.#item.dispose();
  }
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

function textOf(life: Life, status: ServerStatus | undefined): string {
  switch (life.kind) {
    case "disabled":
      return "TIRx Lens: off";
    case "starting":
      return "TIRx Lens: starting";
    case "stopped":
      return "TIRx Lens: stopped";
    case "running":
      return typeof status?.tvmVersion === "string" ? `TIRx Lens: TVM ${plain(status.tvmVersion)}` : "TIRx Lens";
  }
}

function detailOf(life: Life, status: ServerStatus | undefined): string {
  if (life.kind === "stopped") {
    return life.reason;
  }
  if (life.kind === "disabled") {
    return "tirx-lens.enable is off";
  }
  if (!vscode.workspace.isTrusted) {
    return "static checks only: this workspace is not trusted";
  }
  const target = status === undefined || status.target === LOCAL ? status?.interpreter : `target ${status.target}`;
  return [status?.message, target]
    .filter((part) => part !== undefined && part !== "")
    .map((part) => plain(part ?? ""))
    .join(" · ");
}
