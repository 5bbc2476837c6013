/** What the user chose last for each builder, kept for the workspace across sessions. */
import type { Choice, CudaParams } from "../protocol";

/** The part of `vscode.Memento` that is used here. */
export interface Memory {
  get<T>(key: string, otherwise: T): T;
  update(key: string, value: unknown): Thenable<void>;
}

const KEY = "cuda.choices";
const MOST_KEPT = 200;

/** The choices of earlier sessions and of this one, the newest first. */
export function choices(memory: Memory): readonly Choice[] {
  return memory.get<readonly Choice[]>(KEY, []);
}

/** What was chosen last for a builder of a file; undefined where nothing was. */
export function lastChoice(memory: Memory, uri: string, builder: string): Choice | undefined {
  return choices(memory).find((choice) => isOf(choice, uri, builder));
}

/** Keep what a request that led to a build had chosen. It leaves what `choose` has put. */
export async function remember(memory: Memory, params: CudaParams, builder: string): Promise<void> {
  const { textDocument, config, argumentSet, answers, arch } = params;
  const before = lastChoice(memory, textDocument.uri, builder)?.arguments;
  await put(memory, textDocument.uri, builder, { config, argumentSet, answers, arch, arguments: before });
}

/** What a user chose for a builder: arguments, a set of them or a configuration; none gives all back. */
export type Chosen = Pick<Choice, "arguments" | "argumentSet" | "config">;

/** Keep what was chosen for a builder until something else is. */
export async function choose(memory: Memory, uri: string, builder: string, chosen: Chosen): Promise<void> {
  const arch = lastChoice(memory, uri, builder)?.arch;
  await put(memory, uri, builder, { ...chosen, arch });
}

type Parts = { readonly [Part in Exclude<keyof Choice, "textDocument" | "builder">]?: Choice[Part] | undefined };

async function put(memory: Memory, uri: string, builder: string, parts: Parts): Promise<void> {
  const chosen = Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== undefined));
  const others = choices(memory).filter((choice) => !isOf(choice, uri, builder));
  const newest: Choice = { textDocument: { uri }, builder, ...chosen };
  await memory.update(KEY, [newest, ...others].slice(0, MOST_KEPT));
}

function isOf(choice: Choice, uri: string, builder: string): boolean {
  return choice.textDocument.uri === uri && choice.builder === builder;
}
