/** The links of a worksheet: `/folder/file.py#L12`, quoted as in a URL. */

export interface LinkedLine {
  readonly path: string;
  /** Counted from 1. */
  readonly line: number;
}

/** Read a link; undefined where it is none of a line. */
export function lineOfLink(href: string): LinkedLine | undefined {
  const match = /^(?<path>[^#]+)#L(?<line>[1-9]\d{0,8})$/.exec(href);
  const { path, line } = match?.groups ?? {};
  if (path === undefined || line === undefined) {
    return undefined;
  }
  try {
    return { path: decodeURIComponent(path), line: Number(line) };
  } catch {
    return undefined;
  }
}
