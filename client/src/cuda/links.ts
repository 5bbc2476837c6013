/** Which lines of CUDA belong to which lines of Python, both ways, while the Python is edited. */
import type { Link } from "../protocol";

/** Neighbouring lines, both counted from 0 and both included. */
export interface Lines {
  readonly first: number;
  readonly last: number;
  readonly guessed: boolean;
}

export interface Place extends Lines {
  readonly uri: string;
}

/** An edit, in lines: those it replaced, and how many stand there now. */
export interface LineEdit {
  readonly first: number;
  readonly last: number;
  readonly inserted: number;
}

export class Links {
  readonly #byLine: ReadonlyMap<number, Link>;

  constructor(readonly all: readonly Link[]) {
    this.#byLine = new Map(all.map((link) => [link.line, link]));
  }

  /**
   * The CUDA of a line of Python: of the smallest statement on it. An unrolled statement has
   * several regions.
   */
  cudaOf(uri: string, line: number): readonly Lines[] {
    const covering = this.all.flatMap((link) => {
      const heights = link.frames
        .filter((frame) => frame.uri === uri && frame.line <= line && line <= frame.endLine)
        .map((frame) => frame.endLine - frame.line);
      return heights.length === 0 ? [] : [{ link, height: Math.min(...heights) }];
    });
    const smallest = Math.min(...covering.map(({ height }) => height));
    const lines = covering.filter(({ height }) => height === smallest).map(({ link }) => link);
    return regions(lines.map((link) => ({ first: link.line, last: link.line, guessed: link.guessed })));
  }

  /** The Python of a line of CUDA, outermost call first. */
  pythonOf(cudaLine: number): readonly Place[] {
    const link = this.#byLine.get(cudaLine);
    return (link?.frames ?? []).map((frame) => ({
      uri: frame.uri,
      first: frame.line,
      last: frame.endLine,
      guessed: link?.guessed ?? false,
    }));
  }

  /** The links after an edit of a source. Those of statements that it touched are gone. */
  edited(uri: string, edit: LineEdit): Links {
    const by = edit.inserted - (edit.last - edit.first);
    const moved = this.all.map((link) => {
      const frames = link.frames.flatMap((frame) => {
        if (frame.uri !== uri || frame.endLine < edit.first) {
          return [frame];
        }
        if (frame.line > edit.last) {
          return [{ ...frame, line: frame.line + by, endLine: frame.endLine + by }];
        }
        // A change within the lines of a statement leaves it where it is.
        return by === 0 && frame.line <= edit.first && edit.last <= frame.endLine ? [frame] : [];
      });
      return { ...link, frames };
    });
    return new Links(moved.filter((link) => link.frames.length > 0));
  }
}

/** Join lines that follow one another. */
export function regions(lines: readonly Lines[]): readonly Lines[] {
  const joined: Lines[] = [];
  for (const line of [...lines].sort((a, b) => a.first - b.first)) {
    const last = joined.at(-1);
    if (last !== undefined && line.first <= last.last + 1 && line.guessed === last.guessed) {
      joined[joined.length - 1] = { ...last, last: Math.max(last.last, line.last) };
    } else {
      joined.push(line);
    }
  }
  return joined;
}
