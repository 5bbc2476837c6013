/** The server's log lines, as they come over its standard error. */

export type Level = "error" | "warn" | "info" | "debug";

export interface LogLine {
  readonly level: Level;
  readonly message: string;
}

export type LevelWriter = Readonly<Record<Level, (message: string) => void>>;

const LEVELS: Readonly<Record<string, Level>> = {
  CRITICAL: "error",
  ERROR: "error",
  WARNING: "warn",
  INFO: "info",
  DEBUG: "debug",
};

/** Read a line as Python's logging writes it, `LEVEL:name:message`; any other line is kept whole. */
export function parseLogLine(text: string): LogLine {
  const [, word = "", rest = ""] = /^([A-Z]+):(.*)$/.exec(text) ?? [];
  const level = LEVELS[word];
  return level === undefined ? { level: "info", message: text } : { level, message: rest.trim() };
}

export function writeLogLine(log: LevelWriter, line: LogLine): void {
  log[line.level](line.message);
}
