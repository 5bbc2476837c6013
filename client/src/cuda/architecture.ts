/** The GPU architecture that kernels of this workspace are built for. */
import * as vscode from "vscode";
import { readSettings } from "../settings";

const KEY = "cuda.architecture";

const KNOWN: readonly (readonly [string, string])[] = [
  ["sm_100a", "Blackwell: B100, B200, GB200"],
  ["sm_103a", "Blackwell Ultra: B300, GB300"],
  ["sm_120a", "Blackwell: RTX PRO and RTX 50"],
  ["sm_90a", "Hopper: H100, H200"],
  ["sm_80", "Ampere: A100"],
];

export class Architecture {
  constructor(readonly memory: vscode.Memento) {}

  /** What was chosen for this workspace; undefined where the setting counts. */
  get chosen(): string | undefined {
    return this.memory.get<string>(KEY);
  }

  /** Ask for another one; true where the choice has changed. */
  async choose(): Promise<boolean> {
    const setting = readSettings().arch;
    const current = this.chosen ?? setting;
    const mark = (name: string): string => (name === current ? "$(check) " : "");
    const items = [
      { label: `${this.chosen === undefined ? "$(check) " : ""}As in the settings`, description: setting, arch: undefined },
      ...KNOWN.map(([name, gpus]) => ({
        label: `${this.chosen === undefined ? "" : mark(name)}${name}`,
        description: gpus,
        arch: name,
      })),
    ];
    const picked = await vscode.window.showQuickPick(items, {
      title: "Target Architecture",
      placeHolder: "For which GPU are kernels built? None is needed to build.",
    });
    if (picked === undefined || picked.arch === this.chosen) {
      return false;
    }
    await this.memory.update(KEY, picked.arch);
    return true;
  }
}
