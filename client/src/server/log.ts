/** The server's log lines, as they come over its standard error. */

export type Level = "error" | "warn" | "info" | "debug";

export interface LogLine {
  readonly level: Level;
  /** The logger's name, or undefined where the line is none of a logger's. */
  readonly logger: string | undefined;
  readonly message: string;
}

const LEVELS: Readonly<Record<string, Level>> = {
  CRITICAL: "error",
  ERROR: "error",
  WARNING: "warn",
  INFO: "info",
  DEBUG: "debug",
};

const LINE = /^\d{4}-\d\d-\d\d [\d:,]+ (?<level>[A-Z]+) +(?<logger>[\w.]+): (?<message>.*)$/;

/** Read a line of the server's log, `DATE TIME LEVEL LOGGER: MESSAGE`; any other is kept whole. */
export function parseLogLine(text: string): LogLine {
  const { level = "", logger, message = text } = LINE.exec(text)?.groups ?? {};
  return { level: LEVELS[level] ?? "info", logger, message };
}

/** Tell whether the server sends this line as a message of the protocol too. */
export function isSentAsMessage(line: LogLine): boolean {
  return line.logger === "tirx_lens" || line.logger?.startsWith("tirx_lens.") === true;
}
