/** "Check All Files": what is wrong in the files of the workspace, those that are not open included. */
import { randomUUID } from "node:crypto";
import * as vscode from "vscode";
import { ExecuteCommandRequest, WorkDoneProgress, WorkDoneProgressCancelNotification } from "vscode-languageclient/node";
import type { Supervisor } from "./server/supervisor";
import { command, show } from "./ui/notify";
import { plain } from "./ui/plain";

const CHECK = "tirx-lens.server.checkAllFiles";
const CLEAR = "tirx-lens.server.clearAllFiles";

/** What a check of all files gave. */
interface Summary {
  readonly findings: number;
  readonly failures: readonly string[];
  readonly refused: boolean;
  readonly message: string;
}

const SHOW_PROBLEMS = command("Show Problems", "workbench.actions.view.problems");
const SHOW_LOGS = command("Show Logs", "tirx-lens.showServerLogs");

/** Have all files checked, with progress that can be cancelled, and say what came of it. */
export async function checkAllFiles(supervisor: Supervisor): Promise<void> {
  const session = await supervisor.session();
  if (session === undefined) {
    await show("information", "The TIRx Lens server is not running.");
    return;
  }
  const { client } = session;
  const options = {
    location: vscode.ProgressLocation.Notification,
    title: "Checking TIRx files",
    cancellable: true,
  };
  const summary = await vscode.window.withProgress(options, async (progress, cancellation) => {
    const token = randomUUID();
    let reached = 0;
    const steps = client.onProgress(WorkDoneProgress.type, token, (step) => {
      if (step.kind === "report") {
        const { message = "", percentage = reached } = step;
        progress.report({ message: plain(message), increment: Math.max(0, percentage - reached) });
        reached = percentage;
      }
    });
    const cancelling = cancellation.onCancellationRequested(() =>
      client.sendNotification(WorkDoneProgressCancelNotification.type, { token }),
    );
    try {
      const asked = { command: CHECK, arguments: [{ workDoneToken: token, tells: false }] };
      return (await client.sendRequest(ExecuteCommandRequest.type, asked)) as Summary;
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return { findings: 0, failures: [], refused: true, message: `The files could not be checked: ${message}` };
    } finally {
      steps.dispose();
      cancelling.dispose();
    }
  });
  const severity = summary.refused || summary.failures.length > 0 ? "warning" : "information";
  const problems = summary.findings > 0 ? [SHOW_PROBLEMS] : [];
  await show(severity, summary.message, ...problems, ...(summary.failures.length > 0 ? [SHOW_LOGS] : []));
}

/** Take away what was found in files that are not open. */
export async function clearAllFiles(supervisor: Supervisor): Promise<void> {
  const session = await supervisor.session();
  await session?.client.sendRequest(ExecuteCommandRequest.type, { command: CLEAR, arguments: [] });
}
