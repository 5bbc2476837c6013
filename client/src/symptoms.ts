/** Asking how a mistake shows, and whether something may be run to learn more. */
import * as vscode from "vscode";
import type { Symptom } from "./protocol";

const SYMPTOMS: readonly (vscode.QuickPickItem & { readonly symptom: Symptom })[] = [
  { symptom: "deadlock", label: "Deadlock", detail: "The kernel never ends, or a watchdog kills it." },
  { symptom: "crash", label: "Crash", detail: "The launch fails or an access is illegal: the CUDA context is lost." },
  { symptom: "wrong-rows", label: "Wrong rows", detail: "Numbers are wrong: stripes of rows, tiles, other places in each run." },
  { symptom: "nan", label: "NaN", detail: "NaN, infinity, or numbers that no input could give." },
  { symptom: "slow", label: "Slow", detail: "Right, and not as fast as it should be." },
  { symptom: "build", label: "Does not build", detail: "TVM or the CUDA compiler refuses it." },
];

/** Ask which symptom is seen; undefined where the user turned away. */
export async function askSymptom(title: string): Promise<Symptom | undefined> {
  const picked = await vscode.window.showQuickPick(SYMPTOMS, { title, placeHolder: "What is seen of the mistake?" });
  return picked?.symptom;
}

/** Ask whether to build for more; false where the workspace is not trusted, undefined on turning away. */
export async function askBuild(title: string, gain: string): Promise<boolean | undefined> {
  if (!vscode.workspace.isTrusted) {
    return false;
  }
  const picked = await vscode.window.showQuickPick(
    [
      { label: "Read the text alone", detail: "Nothing is run.", build: false },
      { label: "Build the kernel, too", detail: `Runs the file's code at the chosen target, for ${gain}.`, build: true },
    ],
    { title, placeHolder: "What may be run for it?" },
  );
  return picked?.build;
}
