/** What the user is asked before a build: which builder, and its arguments. */
import * as vscode from "vscode";
import type { Arguments, ChooseArguments, ChooseConfig, NeedArguments, Parameter } from "../protocol";
import { firstGap, parseArguments, proposeArguments } from "./arguments";

/** Ask which builder of a file is meant; undefined where the user turned away. */
export function askBuilder(builders: readonly string[], title: string): Thenable<string | undefined> {
  return vscode.window.showQuickPick([...builders], { title, placeHolder: "Which kernel builder?" });
}

/** Ask which configuration of a registered kernel to build; undefined where the user turned away. */
export async function askConfig(
  { builder, configs }: ChooseConfig,
  last: string | undefined,
): Promise<string | undefined> {
  const items = configs.map((config) => ({ label: config, choice: config }));
  const title = `Configuration of ${builder}`;
  return pickAgain(items, last, { title, placeHolder: "Which of the file's CONFIGS?" });
}

/** Ask which of the argument sets that are given for a builder; its label. */
export async function askArgumentSet(
  { builder, sets }: ChooseArguments,
  last: string | undefined,
): Promise<string | undefined> {
  const items = sets.map((set) => ({
    label: Object.entries(set.arguments)
      .map(([name, value]) => `${name}=${value}`)
      .join(" "),
    description: set.label,
    choice: set.label,
  }));
  const title = `Arguments of ${builder}`;
  return pickAgain(items, last, { title, placeHolder: "Which of the arguments that are given for it?" });
}

/** Ask for one of several choices, the one that was made last at the top. */
async function pickAgain(
  items: readonly (vscode.QuickPickItem & { readonly choice: string })[],
  last: string | undefined,
  options: vscode.QuickPickOptions,
): Promise<string | undefined> {
  const again = items
    .filter(({ choice }) => choice === last)
    .map((item) => ({ ...item, description: `${item.description ?? ""} (chosen last)`.trim() }));
  const others = items.filter(({ choice }) => choice !== last);
  return (await vscode.window.showQuickPick([...again, ...others], options))?.choice;
}

/** Ask for a builder's arguments, beginning with those given last; undefined on turning away. */
export async function askArguments(
  need: NeedArguments,
  source: vscode.Uri,
  memory: vscode.Memento,
): Promise<Arguments | undefined> {
  const key = `cuda.arguments ${source.toString()} ${need.builder}`;
  const values = await typeArguments(need.builder, need.parameters, memory.get<Arguments>(key, {}));
  if (values !== undefined) {
    await memory.update(key, values);
  }
  return values;
}

/** Let arguments be typed, beginning with these; undefined on turning away. */
export async function typeArguments(
  builder: string,
  parameters: readonly Parameter[],
  first: Arguments,
  words?: { readonly title: string; readonly prompt: string },
): Promise<Arguments | undefined> {
  const value = proposeArguments(parameters, first);
  const gap = firstGap(value);
  const typed = await vscode.window.showInputBox({
    title: `Arguments of ${builder}`,
    prompt: `Or write them above the builder: "# tirx-lens: args ${parameters.map(({ name }) => `${name}=…`).join(" ")}"`,
    ...words,
    value,
    valueSelection: [gap, gap],
    ignoreFocusOut: true,
    validateInput: (text) => {
      const parsed = parseArguments(text, parameters);
      return "problem" in parsed ? parsed.problem : undefined;
    },
  });
  const parsed = typed === undefined ? undefined : parseArguments(typed, parameters);
  return parsed === undefined || "problem" in parsed ? undefined : parsed.values;
}
