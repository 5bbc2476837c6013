/** A timeline to look at: only what is in view is drawn; pointer and keys move the view, and choose bars. */
import { scaleLinear, type ScaleLinear } from "d3-scale";
import { select } from "d3-selection";
import { zoom, zoomIdentity, type D3ZoomEvent, type ZoomBehavior } from "d3-zoom";
import { barOf, drawBars } from "./bars";
import { drawArrows, drawClashes, drawMarks } from "./causes";
import { AXIS, Frame } from "./frame";
import { actionOf, type Action } from "./keys";
import { firstTicks, inOrder, layOut, neighbour, type Layout } from "./layout";
import type { Timeline } from "./model";
import { Sight } from "./sight";

const COMFORTABLE = 11; // pixels a tick to begin with
const CLOSEST = 140;

/** What the chart tells: the keyboard's or pointer's choice. */
export interface Listener {
  readonly selected: (bar: number | undefined) => void;
  readonly entered: (bar: number, takesFocus: boolean) => void;
}

export class Chart {
  readonly root: HTMLElement;
  readonly #frame = new Frame();
  readonly #zoom: ZoomBehavior<SVGSVGElement, unknown>;
  readonly #listener: Listener;
  #timeline: Timeline | undefined;
  #layout: Layout = { headers: [], rows: [], height: 0 };
  #ordered: readonly (readonly number[])[] = [];
  #base: ScaleLinear<number, number> = scaleLinear();
  #scale: ScaleLinear<number, number> = scaleLinear();
  #selected: number | undefined;
  #here: ReadonlySet<number> = new Set();
  #clashing: ReadonlySet<number> = new Set();
  #character = 6.6;
  #nextFrame = 0;
  #width = 0;

  constructor(listener: Listener) {
    this.#listener = listener;
    this.root = this.#frame.root;
    this.#zoom = zoom<SVGSVGElement, unknown>()
      .filter((event: MouseEvent) => (event.type === "wheel" ? event.ctrlKey || event.metaKey : event.button === 0))
      .on("zoom", (event: D3ZoomEvent<SVGSVGElement, unknown>) => {
        this.#scale = event.transform.rescaleX(this.#base);
        this.#later();
      });
    const { svg } = this.#frame;
    select(svg).call(this.#zoom).on("dblclick.zoom", null);
    svg.addEventListener("click", (event) => this.#clicked(event, false));
    svg.addEventListener("dblclick", (event) => this.#clicked(event, true));
    this.root.addEventListener("wheel", (event) => this.#wheeled(event), { passive: false });
    this.root.addEventListener("keydown", (event) => this.#pressed(event));
    this.root.addEventListener("scroll", () => this.#later(), { passive: true });
    new ResizeObserver(() => this.#resized()).observe(this.root);
  }

  /** Draw another timeline, or another version of one: `keepsPlace` leaves the ticks in view. */
  show(timeline: Timeline, name: string, keepsPlace: boolean): void {
    const before = keepsPlace ? this.#sight() : undefined;
    this.#timeline = timeline;
    this.#layout = layOut(timeline.rows);
    this.#ordered = inOrder(timeline);
    this.#clashing = new Set(timeline.clashes.flatMap(({ first, second }) => (second === null ? [first] : [first, second])));
    this.root.setAttribute("aria-label", `Timeline of ${name}. ${timeline.verdict}`);
    this.#frame.writeLabels(timeline.rows, this.#layout);
    this.#selected = undefined;
    this.#here = new Set();
    this.#frame.bars.selectAll("*").remove();
    this.#measure(timeline);
    const end = before === undefined ? 0 : Math.min(before.to, timeline.end);
    this.#look(
      before === undefined || end <= before.from
        ? firstTicks(timeline, this.#width, COMFORTABLE)
        : [before.from, end],
    );
  }

  /** The bar that the keyboard is at. */
  get selected(): number | undefined {
    return this.#selected;
  }

  /** Put the keyboard at a bar and bring it into view. */
  select(number: number | undefined, brings = true): void {
    this.#selected = number;
    if (number !== undefined) {
      this.root.setAttribute("aria-activedescendant", `bar-${number}`);
      if (brings) {
        this.#bringIntoView(number);
      }
    } else {
      this.root.removeAttribute("aria-activedescendant");
    }
    this.#listener.selected(number);
    this.#draw();
  }

  /** Mark the bars of the line with the cursor; the first comes into view if none of them is. */
  mark(bars: readonly number[]): void {
    this.#here = new Set(bars);
    const sight = this.#sight();
    const isSeen = bars.some((number) => {
      const bar = this.#timeline?.bars[number];
      return bar !== undefined && sight !== undefined && bar.stop >= sight.from && bar.start <= sight.to && this.#isRowInView(bar.row);
    });
    const first = bars[0];
    if (first !== undefined && !isSeen) {
      this.#bringIntoView(first);
    }
    this.#draw();
  }

  /** Zoom by a factor, around the chosen bar if it is in view. */
  zoomBy(factor: number): void {
    const bar = this.#timeline?.bars[this.#selected ?? -1];
    const x = bar === undefined ? -1 : this.#scale(bar.isOpen === true ? bar.start : (bar.ready + bar.stop) / 2);
    const middle = x >= 0 && x <= this.#width ? x : this.#width / 2;
    select(this.#frame.svg).call((svg) => this.#zoom.scaleBy(svg, factor, [middle, 0]));
  }

  /** Show everything. */
  fit(): void {
    this.#look([0, this.#timeline?.end ?? 1]);
  }

  /** What is in view now. */
  #sight(): Sight | undefined {
    return this.#timeline && new Sight(this.#timeline, this.#layout, this.#scale, this.#width, this.#character);
  }

  #look([from, to]: readonly [number, number]): void {
    const scale = this.#width / Math.max(1e-6, this.#base(to) - this.#base(from));
    const transform = zoomIdentity.scale(scale).translate(-this.#base(from), 0);
    select(this.#frame.svg).call((svg) => this.#zoom.transform(svg, transform));
    this.#draw();
  }

  #measure({ end }: Timeline): void {
    this.#width = this.#frame.fill(this.#layout);
    this.#character = this.#frame.character();
    this.#base = scaleLinear().domain([0, end]).range([0, this.#width]);
    const most = Math.max(1, (CLOSEST * end) / this.#width);
    const extent: [[number, number], [number, number]] = [[0, 0], [this.#width, this.#layout.height]];
    this.#zoom.scaleExtent([1, most]).extent(extent).translateExtent(extent);
  }

  #resized(): void {
    const timeline = this.#timeline;
    const sight = this.#sight();
    if (timeline === undefined || sight === undefined || this.root.clientWidth === 0) {
      return;
    }
    this.#measure(timeline);
    const isFirst = sight.width <= 1;
    const length = ((sight.to - sight.from) * this.#width) / Math.max(1, sight.width);
    const start = Math.max(0, Math.min(sight.from, timeline.end - length));
    this.#look(
      isFirst ? firstTicks(timeline, this.#width, COMFORTABLE) : [start, Math.min(timeline.end, start + length)],
    );
  }

  #later(): void {
    if (this.#nextFrame === 0) {
      this.#nextFrame = requestAnimationFrame(() => {
        this.#nextFrame = 0;
        this.#draw();
      });
    }
  }

  #draw(): void {
    const sight = this.#sight();
    if (sight === undefined) {
      return;
    }
    const { bars, together, marks, arrows, clashes } = this.#frame;
    const marked = { selected: this.#selected, here: this.#here, clashing: this.#clashing };
    const top = this.root.scrollTop - 40;
    this.#frame.drawAxis(sight);
    drawBars(bars, together, sight, marked, top, top + this.root.clientHeight + 80);
    drawMarks(marks, sight);
    drawArrows(arrows, sight, this.#selected);
    drawClashes(clashes, sight);
  }

  #isRowInView(row: number): boolean {
    const box = this.#layout.rows[row];
    const top = this.root.scrollTop;
    return box !== undefined && box.top >= top && box.top + box.height <= top + this.root.clientHeight - AXIS;
  }

  #bringIntoView(number: number): void {
    const bar = this.#timeline?.bars[number];
    const sight = this.#sight();
    if (bar === undefined || sight === undefined) {
      return;
    }
    const box = this.#layout.rows[bar.row];
    if (box !== undefined && !this.#isRowInView(bar.row)) {
      const room = this.root.clientHeight - AXIS;
      const isAbove = box.top < this.root.scrollTop;
      this.root.scrollTop = isAbove ? box.top - 30 : box.top + box.height + 30 - room;
    }
    const start = bar.isOpen === true ? bar.start : bar.ready;
    if (start < sight.from || start + 1 > sight.to) {
      const x = this.#base(start + 0.5);
      select(this.#frame.svg).call((svg) => this.#zoom.translateTo(svg, x, 0, [this.#width / 2, 0]));
    }
  }

  #clicked(event: MouseEvent, takesFocus: boolean): void {
    const corner = this.#frame.svg.getBoundingClientRect();
    const at = this.#sight()?.barAt(event.clientX - corner.left, event.clientY - corner.top) ?? -1;
    const number = barOf(event.target) ?? (at === -1 ? undefined : at);
    this.root.focus({ preventScroll: true });
    this.select(number, false);
    if (number !== undefined) {
      this.#listener.entered(number, takesFocus);
    }
  }

  #wheeled(event: WheelEvent): void {
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      return;
    }
    const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
    if (sideways !== 0 && (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))) {
      event.preventDefault();
      this.#pan(sideways);
    }
  }

  #pan(pixels: number): void {
    const scale = (this.#scale(1) - this.#scale(0)) / (this.#base(1) - this.#base(0));
    select(this.#frame.svg).call((svg) => this.#zoom.translateBy(svg, -pixels / scale, 0));
  }

  #pressed(event: KeyboardEvent): void {
    const action = actionOf(event);
    if (this.#timeline !== undefined && action !== undefined && this.#carriesOut(action, this.#timeline)) {
      event.preventDefault();
      event.stopPropagation();
    }
  }

  /** Do what a key means; whether there was anything to do. */
  #carriesOut(action: Action, timeline: Timeline): boolean {
    switch (action.kind) {
      case "zoom":
        this.zoomBy(action.factor);
        return true;
      case "fit":
        this.fit();
        return true;
      case "pan":
        this.#pan(action.screens * this.#width);
        return true;
      default:
        return this.#goes(action, timeline);
    }
  }

  #goes(action: Exclude<Action, { kind: "zoom" | "fit" | "pan" }>, timeline: Timeline): boolean {
    const at = this.#selected;
    if (at === undefined) {
      const start = action.kind === "move" ? this.#ordered.find((row) => row.length > 0)?.[0] : undefined;
      if (start !== undefined) {
        this.select(start);
      }
      return start !== undefined;
    }
    switch (action.kind) {
      case "move":
        this.select(neighbour(timeline, this.#ordered, at, action.to));
        break;
      case "enter":
        this.#listener.entered(at, action.takesFocus);
        break;
      case "leave":
        this.select(undefined);
        break;
      case "cause":
        this.select(timeline.arrows.find(({ second }) => second === at)?.first ?? at);
        break;
      case "effect":
        this.select(timeline.arrows.find(({ first, kind }) => first === at && kind !== "meeting")?.second ?? at);
    }
    return true;
  }
}
