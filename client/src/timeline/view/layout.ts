/** Where rows and bars stand, in pixels from the top; and which bar is beside another. */
import type { Bar, Row, Timeline } from "./model";

const MAIN = 18;
const LANE = 8;
const QUIET = 14;
const PHASE = 15;
const GAP = 6;
const HEADER = 24;

export interface Box {
  readonly top: number;
  readonly height: number;
}

export interface Header {
  readonly title: string;
  readonly top: number;
}

export interface Layout {
  readonly headers: readonly Header[];
  readonly rows: readonly Box[];
  readonly height: number;
}

/** Put rows below one another, with a header above those of each warpgroup, and of barriers. */
export function layOut(rows: readonly Row[]): Layout {
  const several = new Set(rows.map((row) => row.cta)).size > 1;
  const headers: Header[] = [];
  const boxes: Box[] = [];
  let top = 0;
  let last = "";
  for (const row of rows) {
    const title = several ? `CTA ${row.cta} · ${row.group}` : row.group;
    if (title !== last) {
      headers.push({ title, top });
      top += HEADER;
      last = title;
    }
    const height = heightOf(row);
    boxes.push({ top, height });
    top += height;
  }
  return { headers, rows: boxes, height: top + GAP };
}

function heightOf(row: Row): number {
  if (row.kind === "barrier") {
    return PHASE + 4;
  }
  return row.isQuiet ? QUIET + 4 : MAIN + (row.lanes - 1) * LANE + GAP;
}

/** Where a bar stands within its row: the first lane is the role's own, the thin ones engines'. */
export function boxOf(bar: Bar, row: Row, box: Box): Box {
  if (row.kind === "barrier") {
    return { top: box.top + 2, height: PHASE };
  }
  const top = box.top + (row.isQuiet ? 2 : GAP / 2);
  if (bar.lane > 0) {
    return { top: top + MAIN + (bar.lane - 1) * LANE + 1, height: LANE - 2 };
  }
  return { top, height: row.isQuiet ? QUIET : MAIN };
}

/** What the keys do: from one bar to the next. */
export type Move = "left" | "right" | "up" | "down" | "first" | "last";

/** The bars of each row as the keys go through them: by time, then lane. */
export function inOrder(timeline: Timeline): readonly (readonly number[])[] {
  const rows: number[][] = timeline.rows.map(() => []);
  timeline.bars.forEach((bar, number) => rows[bar.row]?.push(number));
  for (const row of rows) {
    row.sort((a, b) => placeInRow(timeline, a) - placeInRow(timeline, b));
  }
  return rows;
}

function placeInRow({ bars }: Timeline, number: number): number {
  const bar = bars[number];
  return bar === undefined ? 0 : bar.start + bar.lane / 64;
}

/** The bar that a key leads to; the same where there is none that way. */
export function neighbour(
  timeline: Timeline,
  ordered: readonly (readonly number[])[],
  from: number,
  move: Move,
): number {
  const bar = timeline.bars[from];
  const row = bar === undefined ? undefined : ordered[bar.row];
  if (bar === undefined || row === undefined) {
    return from;
  }
  const place = row.indexOf(from);
  switch (move) {
    case "left":
      return row[place - 1] ?? from;
    case "right":
      return row[place + 1] ?? from;
    case "first":
      return row[0] ?? from;
    case "last":
      return row.at(-1) ?? from;
    default: {
      const step = move === "up" ? -1 : 1;
      for (let next = bar.row + step; ordered[next] !== undefined; next += step) {
        const found = nearest(timeline, ordered[next] ?? [], bar.ready);
        if (found !== undefined) {
          return found;
        }
      }
      return from;
    }
  }
}

/** Of some bars the one that is under way at a time, else the one that is least far from it. */
export function nearest({ bars }: Timeline, numbers: readonly number[], time: number): number | undefined {
  const distance = (number: number): number => {
    const bar = bars[number];
    return bar === undefined ? Infinity : Math.max(bar.start - time, time - bar.stop + 0.5, 0);
  };
  return numbers.length === 0 ? undefined : numbers.reduce((a, b) => (distance(b) < distance(a) ? b : a));
}

/** The ticks to begin with: all, or as many as can be read, around what went wrong. */
export function firstTicks(timeline: Timeline, width: number, pixelsPerTick: number): readonly [number, number] {
  const many = width / pixelsPerTick;
  if (timeline.end <= many) {
    return [0, timeline.end];
  }
  const wrong = timeline.bars[timeline.wrong ?? -1];
  if (wrong?.kind === "blocked") {
    return [timeline.end - many, timeline.end];
  }
  const middle = wrong === undefined ? many / 2 : wrong.start;
  const start = Math.min(Math.max(0, middle - many / 2), timeline.end - many);
  return [start, start + many];
}

/** As much of a label as fits. */
export function fitted(label: string, width: number, character: number): string {
  const room = Math.floor((width - 6) / character);
  return label.length <= room ? label : room < 5 ? "" : `${label.slice(0, room - 1)}…`;
}
