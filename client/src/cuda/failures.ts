/** What is said of a build that gave no CUDA, and what can be done about it. */
import * as vscode from "vscode";
import type { Cuda, CudaResult, Failed } from "../protocol";
import type { Supervisor } from "../server/supervisor";
import { LOCAL } from "../targets/memory";
import { command, openMachineSettings, type Button } from "../ui/notify";

/** The buttons below a failure; `retry` builds once more. */
export function failureButtons(
  failure: Failed,
  retry: (() => unknown) | undefined,
  { life, status }: Supervisor,
  log: vscode.LogOutputChannel,
): readonly Button[] {
  const { file, line = 0, column = 0, detail, document, uri } = failure;
  const buttons: Button[] = [];
  if (failure.canRetry === true && retry !== undefined) {
    buttons.push({ title: "Retry", run: retry });
  }
  if (file !== undefined) {
    const place = new vscode.Position(line, column);
    buttons.push({
      title: "Go to Place",
      run: () => {
        const at = uri === undefined ? vscode.Uri.file(file) : vscode.Uri.parse(uri, true);
        return vscode.window.showTextDocument(at, { selection: new vscode.Range(place, place) });
      },
    });
  }
  if (detail !== "") {
    buttons.push({
      title: "Show Whole Message",
      run: () => {
        if (document !== undefined) {
          return vscode.window.showTextDocument(vscode.Uri.parse(document, true));
        }
        log.error(detail);
        log.show(true);
        return undefined;
      },
    });
  }
  if (life.kind === "stopped") {
    buttons.push(command("Restart Server", "tirx-lens.restart"));
  }
  if (status?.state === "failed") {
    buttons.push(
      ...(status.target === LOCAL
        ? [openMachineSettings("tirx-lens.interpreter")]
        : [command("Choose Target", "tirx-lens.chooseTarget"), command("Check Targets", "tirx-lens.checkTargets")]),
    );
  }
  return buttons;
}

/** Why a builder's CUDA could not be built again, as a sentence. */
export function whyNot(result: Exclude<CudaResult, Cuda>, builder: string): string {
  switch (result.kind) {
    case "failed":
    case "confirmTarget":
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

export function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
