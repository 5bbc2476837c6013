/** Which programs an untrusted workspace had no hand in. */
import { constants } from "node:fs";
import { access, realpath } from "node:fs/promises";
import * as path from "node:path";
import { candidatesOnPath, isInside, withExtension } from "../paths";

/**
 * The absolute file a program name means, or undefined where there is none. A bare name is looked
 * up in `searchPath`; a relative one with a slash has no meaning here.
 */
export async function resolveProgram(
  name: string,
  searchPath: string,
  accept: (file: string) => Promise<boolean> = () => Promise.resolve(true),
): Promise<string | undefined> {
  const candidates = path.isAbsolute(name)
    ? [withExtension(name)]
    : name.includes("/") || name.includes(path.sep)
      ? []
      : candidatesOnPath(name, searchPath);
  for (const candidate of candidates) {
    if ((await isExecutable(candidate)) && (await accept(candidate))) {
      return candidate;
    }
  }
  return undefined;
}

/** Tell whether a file lies outside all these folders, by its name and by what its links lead to. */
export async function isOutside(file: string, folders: readonly string[]): Promise<boolean> {
  const target = await realpath(file).catch(() => file);
  for (const folder of folders) {
    const real = await realpath(folder).catch(() => folder);
    if ([file, target].some((name) => isInside(name, folder) || isInside(name, real))) {
      return false;
    }
  }
  return true;
}

async function isExecutable(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}
