/** Values of settings as they come: anyone can write anything into a file of settings. */

/** Reads values of one kind or another, and notes what was wrong with them. */
export class SettingValues {
  /** A sentence for each value that was passed over. */
  readonly problems: string[] = [];

  constructor(
    private readonly section: string,
    private readonly get: (name: string) => unknown,
  ) {}

  text(name: string, fallback: string): string {
    return this.#read(name, fallback, "a string", (value) => (typeof value === "string" ? value : undefined));
  }

  flag(name: string, fallback: boolean): boolean {
    return this.#read(name, fallback, "true or false", (value) => (typeof value === "boolean" ? value : undefined));
  }

  oneOf<Word extends string>(name: string, words: readonly Word[], fallback: Word): Word {
    return this.#read(name, fallback, `one of ${words.join(", ")}`, (value) =>
      words.find((word) => word === value),
    );
  }

  /** A list of strings. A string alone counts as a list of one. */
  list(name: string): readonly string[] {
    return this.#read<readonly string[]>(name, [], "a list of strings", (value) => {
      if (typeof value === "string") {
        return value === "" ? [] : [value];
      }
      return Array.isArray(value) && value.every((word) => typeof word === "string") ? value : undefined;
    });
  }

  #read<Value>(name: string, fallback: Value, kind: string, read: (value: unknown) => Value | undefined): Value {
    const value = this.get(name);
    if (value === undefined || value === null) {
      return fallback;
    }
    const taken = read(value);
    if (taken === undefined) {
      const used = JSON.stringify(fallback);
      this.problems.push(`setting ${this.section}.${name} must be ${kind}, not ${shown(value)}; using ${used}`);
    }
    return taken ?? fallback;
  }
}

function shown(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length <= 80 ? text : `${text.slice(0, 77)}...`;
}
