/** What the user is asked before a build: which builder, and its arguments. */
import * as vscode from "vscode";
import type { Arguments, ChooseConfig, NeedArguments } from "../protocol";
import { firstGap, parseArguments, proposeArguments } from "./arguments";

/** Ask which builder of a file to build; undefined where the user turned away. */
export function askBuilder(builders: readonly string[]): Thenable<string | undefined> {
  return vscode.window.showQuickPick([...builders], {
    title: "Show Generated CUDA",
    placeHolder: "Which kernel builder?",
  });
}

/** Ask which configuration of a registered kernel to build; undefined where the user turned away. */
export function askConfig({ builder, configs }: ChooseConfig): Thenable<string | undefined> {
  return vscode.window.showQuickPick([...configs], {
    title: `Configuration of ${builder}`,
    placeHolder: "Which of the file's CONFIGS?",
  });
}

/** Ask for a builder's arguments, beginning with those given last; undefined on turning away. */
export async function askArguments(
  need: NeedArguments,
  source: vscode.Uri,
  memory: vscode.Memento,
): Promise<Arguments | undefined> {
  const key = `cuda.arguments ${source.toString()} ${need.builder}`;
  const value = proposeArguments(need.parameters, memory.get<Arguments>(key, {}));
  const gap = firstGap(value);
  const typed = await vscode.window.showInputBox({
    title: `Arguments of ${need.builder}`,
    prompt: `Or write them above the builder: "# tirx-lens: args ${need.parameters.map(({ name }) => `${name}=…`).join(" ")}"`,
    value,
    valueSelection: [gap, gap],
    ignoreFocusOut: true,
    validateInput: (text) => {
      const parsed = parseArguments(text, need.parameters);
      return "problem" in parsed ? parsed.problem : undefined;
    },
  });
  if (typed === undefined) {
    return undefined;
  }
  const parsed = parseArguments(typed, need.parameters);
  if ("problem" in parsed) {
    return undefined;
  }
  await memory.update(key, parsed.values);
  return parsed.values;
}
