/** The links of a worksheet, quoted as in a URL: `/folder/file.py#L12`, in a cell `/a.ipynb#C3L12`. */

export interface LinkedLine {
  readonly path: string;
  /** Counted from 1. */
  readonly line: number;
  /** Which of all cells of a notebook, counted from 1. */
  readonly cell?: number;
}

/** Read a link; undefined where it is none of a line. */
export function lineOfLink(href: string): LinkedLine | undefined {
  const match = /^(?<path>[^#]+)#(?:C(?<cell>[1-9]\d{0,8}))?L(?<line>[1-9]\d{0,8})$/.exec(href);
  const { path, cell, line } = match?.groups ?? {};
  if (path === undefined || line === undefined) {
    return undefined;
  }
  try {
    const inCell = cell === undefined ? {} : { cell: Number(cell) };
    return { path: decodeURIComponent(path), line: Number(line), ...inCell };
  } catch {
    return undefined;
  }
}
