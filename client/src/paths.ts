/** Paths, as text: variables in settings, and where programs may come from. */
import * as path from "node:path";

export interface Variables {
  readonly home: string;
  readonly workspaceFolder: string | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Expand a leading `~`, `${workspaceFolder}`, `${userHome}` and `${env:NAME}`. */
export function expand(value: string, variables: Variables): string {
  return value
    .replace(/^~(?=$|[\\/])/, () => variables.home)
    .replace(/\$\{workspaceFolder\}/g, () => variables.workspaceFolder ?? "")
    .replace(/\$\{userHome\}/g, () => variables.home)
    .replace(/\$\{env:([^}]+)\}/g, (_, name: string) => variables.environment[name] ?? "");
}

/** Tell whether `file` is `folder` or lies in it. Both are absolute. */
export function isInside(file: string, folder: string): boolean {
  const relative = path.relative(folder, file);
  return relative === "" || (relative !== ".." && !relative.startsWith(`..${path.sep}`) && !path.isAbsolute(relative));
}

/**
 * The absolute files that a bare program name can mean, in the order of `PATH`. Relative entries
 * of `PATH` are passed over: what they mean depends on the folder a process happens to be in.
 */
export function candidatesOnPath(
  name: string,
  searchPath: string,
  platform: NodeJS.Platform = process.platform,
): readonly string[] {
  const on = platform === "win32" ? path.win32 : path.posix;
  return searchPath
    .split(on.delimiter)
    .map((folder) => (platform === "win32" ? folder.replaceAll('"', "") : folder))
    .filter((folder) => on.isAbsolute(folder))
    .map((folder) => on.join(folder, withExtension(name, platform)));
}

/** The file that a program's name means: on Windows programs have an extension, said or not. */
export function withExtension(name: string, platform: NodeJS.Platform = process.platform): string {
  return platform === "win32" && path.win32.extname(name).toLowerCase() !== ".exe" ? `${name}.exe` : name;
}
