/** What is in view, and where: from ticks and rows to pixels, without a DOM. */
import type { ScaleLinear } from "d3-scale";
import { boxOf, fitted, type Box, type Layout } from "./layout";
import type { Bar, Timeline } from "./model";

const SMALL = 6; // pixels, below which bars have no room for anything and are drawn together

/** A bar at its place. */
export interface Drawn {
  readonly number: number;
  readonly bar: Bar;
  readonly box: Box;
}

/** When what a bar shows took effect: of a step at once, of an engine's work at its end. */
export function timeOf(bar: Bar): number {
  return bar.isEngine === true ? bar.stop : bar.ready;
}

export class Sight {
  /** The first and the last tick in view. */
  readonly from: number;
  readonly to: number;
  readonly pixelsPerTick: number;

  /** `width` and that of a `character` are in pixels; `scale` leads from ticks to pixels. */
  constructor(
    readonly timeline: Timeline,
    readonly layout: Layout,
    readonly scale: ScaleLinear<number, number>,
    readonly width: number,
    readonly character: number,
  ) {
    this.from = scale.invert(0);
    this.to = scale.invert(width);
    this.pixelsPerTick = scale(1) - scale(0);
  }

  /** Where a tick is. What is far to the right is not drawn that far. */
  x(tick: number): number {
    return Math.min(this.scale(tick), this.width + 20);
  }

  /** The left edge of a bar in view: one that began before it is cut there, so its label shows. */
  left(bar: Bar): number {
    return Math.max(-4, this.x(bar.start));
  }

  /** The middle of what a bar does after its waiting. */
  middle(bar: Bar): number {
    return this.scale((bar.ready + bar.stop) / 2);
  }

  /** A bar at its place, whether or not that is in view. */
  drawn(number: number): Drawn | undefined {
    const bar = this.timeline.bars[number];
    const row = bar === undefined ? undefined : this.timeline.rows[bar.row];
    const box = bar === undefined ? undefined : this.layout.rows[bar.row];
    return bar === undefined || row === undefined || box === undefined
      ? undefined
      : { number, bar, box: boxOf(bar, row, box) };
  }

  /** The bars in view of the rows between two heights. */
  bars(top: number, bottom: number): readonly Drawn[] {
    return this.timeline.bars.flatMap((bar, number) => {
      const row = this.layout.rows[bar.row];
      if (row === undefined || row.top > bottom || row.top + row.height < top || !this.shows(bar)) {
        return [];
      }
      const drawn = this.drawn(number);
      return drawn === undefined ? [] : [drawn];
    });
  }

  /** Whether a bar's ticks are in view. */
  shows(bar: Bar): boolean {
    return bar.start <= this.to && (bar.isOpen === true || bar.stop >= this.from);
  }

  isSmall(bar: Bar): boolean {
    return (bar.stop - bar.start) * this.pixelsPerTick < SMALL && bar.isOpen !== true;
  }

  /** The bar at a point, wide enough to be hit; -1 where there is none. */
  barAt(x: number, y: number): number {
    const tick = this.scale.invert(x);
    const near = 2 / this.pixelsPerTick;
    return this.timeline.bars.findIndex((bar, number) => {
      const box = bar.start - near <= tick && tick < bar.stop + near ? this.drawn(number)?.box : undefined;
      return box !== undefined && box.top <= y && y < box.top + box.height;
    });
  }

  /** As much of a bar's label as fits. */
  label(bar: Bar): string {
    const left = this.left(bar);
    if (bar.isOpen === true) {
      const missing = bar.missing === undefined || bar.kind === "blocked" ? "" : `: ${bar.missing.replace(/^it /, "")}`;
      return fitted(`${bar.label}${missing}`, this.width - left, this.character);
    }
    return fitted(bar.label, this.x(bar.stop) - left, this.character);
  }
}
