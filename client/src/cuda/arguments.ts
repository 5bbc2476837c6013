/** Builder arguments as people type them: `M=1024 N=1024 dtype="float16"`. */
import type { Arguments, Parameter } from "../protocol";

export type Parsed = { readonly values: Arguments } | { readonly problem: string };

const NAME = /^[\p{L}_][\p{L}\p{N}_]*$/u;
const CLOSING: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}" };

/**
 * Read arguments and hold them against the builder's parameters. Values are Python expressions,
 * taken as they stand; a space inside quotes or brackets does not end one.
 */
export function parseArguments(text: string, parameters: readonly Parameter[]): Parsed {
  const values: Record<string, string> = {};
  for (const word of words(text)) {
    const equals = word.indexOf("=");
    const name = equals < 0 ? word : word.slice(0, equals);
    const value = equals < 0 ? "" : word.slice(equals + 1);
    if (!NAME.test(name)) {
      return { problem: `"${word}" is not of the form NAME=VALUE.` };
    }
    if (!parameters.some((parameter) => parameter.name === name)) {
      const names = parameters.map((parameter) => parameter.name).join(", ");
      return { problem: `There is no parameter ${name}; there ${parameters.length === 1 ? "is" : "are"} ${names}.` };
    }
    if (name in values) {
      return { problem: `${name} is given twice.` };
    }
    // A parameter with a default may be left as it stands in the box, without a value.
    if (value !== "") {
      values[name] = value;
    }
  }
  const missing = parameters.find((parameter) => parameter.default === undefined && !(parameter.name in values));
  return missing === undefined ? { values } : { problem: `${missing.name} has no value yet.` };
}

/** The text to begin with: what was given last time, else the defaults, else names to complete. */
export function proposeArguments(parameters: readonly Parameter[], remembered: Arguments): string {
  return parameters
    .map((parameter) => `${parameter.name}=${remembered[parameter.name] ?? parameter.default ?? ""}`)
    .join(" ");
}

/** Where the first value is missing in a text of `proposeArguments`, as an offset into it. */
export function firstGap(text: string): number {
  const gap = /=(?= |$)/.exec(text);
  return gap === null ? text.length : gap.index + 1;
}

function words(text: string): readonly string[] {
  const found: string[] = [];
  let word = "";
  let until: string[] = [];
  for (const character of text) {
    const inner = until.at(-1);
    if (character === inner) {
      until = until.slice(0, -1);
    } else if (inner === '"' || inner === "'") {
      // Inside a string nothing but its own quote means anything.
    } else if (character === '"' || character === "'") {
      until = [...until, character];
    } else {
      const closing = CLOSING[character];
      until = closing === undefined ? until : [...until, closing];
    }
    if (until.length === 0 && /\s/.test(character)) {
      found.push(word);
      word = "";
    } else {
      word += character;
    }
  }
  return [...found, word].filter((each) => each !== "");
}

/** Arguments as people read them. */
export function written(values: Arguments): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}=${value}`)
    .join(" ");
}

/** The values that are others than a builder has anyway: of its own, else its defaults. */
export function differing(values: Arguments, own: Arguments, parameters: readonly Parameter[]): Arguments {
  const defaults = new Map(parameters.map(({ name, default: value }) => [name, value]));
  return Object.fromEntries(
    Object.entries(values).filter(([name, value]) => value !== (own[name] ?? defaults.get(name))),
  );
}
