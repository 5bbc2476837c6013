/** Draws a timeline: labels in HTML, bars and arrows in SVG, only what is in view. */
import { axisTop } from "d3-axis";
import { scaleLinear, type ScaleLinear } from "d3-scale";
import { select, type Selection } from "d3-selection";
import { zoom, zoomIdentity, type D3ZoomEvent, type ZoomBehavior } from "d3-zoom";
import { boxOf, firstTicks, fitted, inOrder, layOut, neighbour, type Box, type Layout, type Move } from "./layout";
import type { Arrow, Bar, Timeline } from "./model";

const COMFORTABLE = 11; // pixels a tick to begin with
const CLOSEST = 140;
const AXIS = 24;
const ALL_ARROWS = 3; // pixels a tick, below which arrows would hide the bars
const SMALL = 6; // pixels, below which bars have no room for anything and are drawn together

type Group = Selection<SVGGElement, unknown, null, undefined>;

/** What the chart tells: the keyboard's or pointer's choice. */
export interface Listener {
  readonly selected: (bar: number | undefined) => void;
  readonly entered: (bar: number, takesFocus: boolean) => void;
}

interface Drawn {
  readonly number: number;
  readonly bar: Bar;
  readonly box: Box;
}

/** Small bars of one kind in one lane, as one path. */
interface Together {
  readonly key: string;
  readonly className: string;
  path: string;
}

export class Chart {
  readonly root: HTMLElement;
  readonly #labels: HTMLElement;
  readonly #svg: SVGSVGElement;
  readonly #axis: Group;
  readonly #bands: Group;
  readonly #marks: Group;
  readonly #arrows: Group;
  readonly #together: Group;
  readonly #bars: Group;
  readonly #clashes: Group;
  readonly #window: HTMLElement;
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
  #frame = 0;
  #width = 0;

  constructor(listener: Listener) {
    this.#listener = listener;
    const root = select(document.createElement("div")).attr("class", "chart").attr("tabindex", 0);
    root.attr("role", "application").attr("aria-roledescription", "timeline");
    const top = root.append("div").attr("class", "axis");
    top.append("div").attr("class", "corner").text("ticks: order, not time");
    this.#axis = top.append("svg").attr("height", AXIS).attr("aria-hidden", "true").append("g");
    this.#axis.attr("transform", `translate(0,${AXIS - 1})`);
    const rail = top.append("div").attr("class", "rail");
    this.#window = element(rail.append("div"));
    const body = root.append("div").attr("class", "body");
    this.#labels = element(body.append("div").attr("class", "labels"));
    const svg = body.append("svg").attr("class", "plot");
    const defs = svg.append("defs");
    addHatch(defs, "hatch-wait");
    addHatch(defs, "hatch-blocked");
    addHead(defs, "head");
    addHead(defs, "head-strong");
    this.#bands = svg.append("g");
    this.#together = svg.append("g").attr("aria-hidden", "true");
    this.#bars = svg.append("g");
    this.#marks = svg.append("g").attr("aria-hidden", "true");
    this.#arrows = svg.append("g").attr("aria-hidden", "true");
    this.#clashes = svg.append("g").attr("aria-hidden", "true");
    this.#svg = element(svg);
    this.root = element(root);
    this.#zoom = zoom<SVGSVGElement, unknown>()
      .filter((event: MouseEvent) => (event.type === "wheel" ? event.ctrlKey || event.metaKey : event.button === 0))
      .on("zoom", (event: D3ZoomEvent<SVGSVGElement, unknown>) => {
        this.#scale = event.transform.rescaleX(this.#base);
        this.#later();
      });
    svg.call(this.#zoom).on("dblclick.zoom", null);
    this.#svg.addEventListener("click", (event) => this.#clicked(event, false));
    this.#svg.addEventListener("dblclick", (event) => this.#clicked(event, true));
    this.root.addEventListener("wheel", (event) => this.#wheeled(event), { passive: false });
    this.root.addEventListener("keydown", (event) => this.#pressed(event));
    this.root.addEventListener("scroll", () => this.#later(), { passive: true });
    new ResizeObserver(() => this.#resized()).observe(this.root);
  }

  /** Draw another timeline, or another version of one: `keepsPlace` leaves the ticks in view. */
  show(timeline: Timeline, name: string, keepsPlace: boolean): void {
    const ticks = keepsPlace && this.#timeline !== undefined ? this.#ticks() : undefined;
    this.#timeline = timeline;
    this.#layout = layOut(timeline.rows);
    this.#ordered = inOrder(timeline);
    this.#clashing = new Set(timeline.clashes.flatMap(({ first, second }) => (second === null ? [first] : [first, second])));
    this.root.setAttribute("aria-label", `Timeline of ${name}. ${timeline.verdict}`);
    this.#writeLabels(timeline);
    this.#selected = undefined;
    this.#here = new Set();
    this.#bars.selectAll("*").remove();
    this.#measure();
    const end = ticks === undefined ? 0 : Math.min(ticks[1], timeline.end);
    this.#look(
      ticks === undefined || end <= ticks[0]
        ? firstTicks(timeline, this.#width, COMFORTABLE)
        : [ticks[0], end],
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
    const [from, to] = this.#ticks();
    const isSeen = bars.some((number) => {
      const bar = this.#timeline?.bars[number];
      return bar !== undefined && bar.stop >= from && bar.start <= to && this.#isRowInView(bar.row);
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
    select(this.#svg).call((svg) => this.#zoom.scaleBy(svg, factor, [middle, 0]));
  }

  /** Show everything. */

  fit(): void {
    this.#look([0, this.#timeline?.end ?? 1]);
  }

  #look([from, to]: readonly [number, number]): void {
    const scale = this.#width / Math.max(1e-6, this.#base(to) - this.#base(from));
    const transform = zoomIdentity.scale(scale).translate(-this.#base(from), 0);
    select(this.#svg).call((svg) => this.#zoom.transform(svg, transform));
    this.#draw();
  }

  #ticks(): readonly [number, number] {
    return [this.#scale.invert(0), this.#scale.invert(this.#width)];
  }

  #perTick(): number {
    return this.#scale(1) - this.#scale(0);
  }

  #measure(): void {
    const timeline = this.#timeline;
    if (timeline === undefined) {
      return;
    }
    this.#width = Math.max(1, this.root.clientWidth - this.#labels.offsetWidth);
    this.#svg.setAttribute("width", String(this.#width));
    this.#svg.setAttribute("height", String(this.#layout.height));
    select(this.#axis.node()?.ownerSVGElement ?? null).attr("width", this.#width);
    const probe = select(this.#svg).append("text").attr("class", "probe").text("0123456789");
    this.#character = (probe.node()?.getComputedTextLength() ?? 66) / 10 || 6.6;
    probe.remove();
    this.#drawBands();
    this.#base = scaleLinear().domain([0, timeline.end]).range([0, this.#width]);
    const most = Math.max(1, (CLOSEST * timeline.end) / this.#width);
    const extent: [[number, number], [number, number]] = [[0, 0], [this.#width, this.#layout.height]];
    this.#zoom.scaleExtent([1, most]).extent(extent).translateExtent(extent);
  }

  #resized(): void {
    const timeline = this.#timeline;
    if (timeline === undefined || this.root.clientWidth === 0) {
      return;
    }
    const before = this.#width;
    const [from, to] = this.#ticks();
    this.#measure();
    const isFirst = before <= 1;
    const length = ((to - from) * this.#width) / Math.max(1, before);
    const start = Math.max(0, Math.min(from, timeline.end - length));
    this.#look(
      isFirst ? firstTicks(timeline, this.#width, COMFORTABLE) : [start, Math.min(timeline.end, start + length)],
    );
  }

  #later(): void {
    if (this.#frame === 0) {
      this.#frame = requestAnimationFrame(() => {
        this.#frame = 0;
        this.#draw();
      });
    }
  }

  #writeLabels({ rows }: Timeline): void {
    this.#labels.replaceChildren();
    this.#labels.style.height = `${this.#layout.height}px`;
    for (const header of this.#layout.headers) {
      const label = this.#labels.appendChild(document.createElement("div"));
      label.className = "group";
      label.style.top = `${header.top}px`;
      label.textContent = header.title;
    }
    rows.forEach((row, number) => {
      const box = this.#layout.rows[number];
      const label = this.#labels.appendChild(document.createElement("div"));
      label.className = `label ${row.kind}${row.isQuiet ? " quiet" : ""}`;
      label.style.top = `${box?.top ?? 0}px`;
      label.style.height = `${box?.height ?? 0}px`;
      label.title = `${row.name.replaceAll("`", "")}${row.detail === "" ? "" : `: ${row.detail}`}`;
      label.appendChild(document.createElement("span")).textContent = row.title;
      label.appendChild(document.createElement("small")).textContent = row.detail;
    });
  }

  #draw(): void {
    const timeline = this.#timeline;
    if (timeline === undefined) {
      return;
    }
    const [from, to] = this.#ticks();
    const top = this.root.scrollTop - 40;
    const bottom = this.root.scrollTop + this.root.clientHeight + 40;
    this.#axis.call(axisTop(this.#scale).ticks(Math.max(2, this.#width / 80)).tickSizeOuter(0));
    const share = 100 / Math.max(1e-6, timeline.end);
    this.#window.style.left = `${from * share}%`;
    this.#window.style.width = `${(to - from) * share}%`;
    const visible: Drawn[] = [];
    const together = new Map<string, Together>();
    const perTick = this.#perTick();
    timeline.bars.forEach((bar, number) => {
      const row = timeline.rows[bar.row];
      const box = this.#layout.rows[bar.row];
      if (row === undefined || box === undefined || box.top > bottom || box.top + box.height < top) {
        return;
      }
      if (bar.isOpen === true ? bar.start <= to : bar.stop >= from && bar.start <= to) {
        const drawn = { number, bar, box: boxOf(bar, row, box) };
        if ((bar.stop - bar.start) * perTick < SMALL && bar.isOpen !== true && !this.#standsOut(number)) {
          this.#addSmall(together, drawn);
        } else {
          visible.push(drawn);
        }
      }
    });
    this.#together
      .selectAll<SVGPathElement, Together>("path")
      .data([...together.values()], ({ key }) => key)
      .join("path")
      .attr("class", ({ className }) => className)
      .attr("d", ({ path }) => path);
    this.#drawBars(visible);
    this.#drawMarks(timeline, from, to);
    this.#drawArrows(timeline, from, to);
    this.#drawClashes(timeline);
  }

  #drawBands(): void {
    this.#bands
      .selectAll<SVGRectElement, Box>("rect")
      .data(this.#layout.rows)
      .join("rect")
      .attr("class", (_, number) => `band${number % 2 === 1 ? " odd" : ""}`)
      .attr("y", ({ top }) => top)
      .attr("height", ({ height }) => height)
      .attr("width", this.#width);
    this.#bands
      .selectAll<SVGLineElement, Layout["headers"][number]>("line")
      .data(this.#layout.headers)
      .join("line")
      .attr("class", "divider")
      .attr("x2", this.#width)
      .attr("y1", ({ top }) => top + 0.5)
      .attr("y2", ({ top }) => top + 0.5);
  }

  #drawBars(visible: readonly Drawn[]): void {
    const groups = this.#bars
      .selectAll<SVGGElement, Drawn>("g.bar")
      .data(visible, ({ number }) => number)
      .join((enter) => {
        const made = enter.append("g").attr("id", ({ number }) => `bar-${number}`);
        made.attr("role", "img").attr("aria-label", ({ bar }) => plain(bar.text));
        made.append("title").text(({ bar }) => plain(bar.text));
        made.append("rect").attr("class", "waiting");
        made.append("path").attr("class", "done");
        made.append("text").attr("dy", "0.35em");
        return made;
      });
    groups
      .attr("class", (drawn) => this.#classes(drawn))
      .attr("transform", ({ bar, box }) => `translate(${this.#left(bar)},${box.top})`);
    groups
      .select(".waiting")
      .attr("width", ({ bar }) => Math.max(0, this.#x(bar.ready) - this.#left(bar)))
      .attr("height", ({ box }) => box.height);
    groups.select(".done").attr("d", ({ bar, box }) => this.#shape(bar, box));
    groups
      .select("text")
      .attr("x", ({ bar }) => (this.#x(bar.start) < -4 ? 8 : 4))
      .attr("y", ({ box }) => box.height / 2)
      .text(({ bar, box }) => (box.height < 11 ? "" : this.#label(bar)));
  }

  #standsOut(number: number): boolean {
    return number === this.#selected || this.#here.has(number) || this.#clashing.has(number);
  }

  #addSmall(together: Map<string, Together>, { bar, box }: Drawn): void {
    const add = (part: string, from: number, to: number): void => {
      const key = `${bar.row}-${bar.lane}-${part}`;
      const known = together.get(key) ?? { key, className: `together ${part}`, path: "" };
      const left = this.#scale(from);
      const right = Math.max(left + 0.75, this.#scale(to));
      known.path += `M${left.toFixed(1)},${box.top}H${right.toFixed(1)}V${box.top + box.height}H${left.toFixed(1)}Z`;
      together.set(key, known);
    };
    const odd = bar.kind === "phase" && ((bar.phase ?? 0) & 1) === 1 ? " odd" : "";
    if (bar.ready > bar.start) {
      add("waiting", bar.start, bar.ready);
    }
    if (bar.stop > bar.ready) {
      add(`kind-${bar.kind}${bar.isEngine === true ? " engine" : ""}${odd}`, bar.ready, bar.stop);
    }
  }

  /** The bar at a point of the plot, drawn alone or together with others. */
  #barAt(event: MouseEvent): number | undefined {
    const target = event.target instanceof Element ? event.target.closest("g.bar") : null;
    if (target !== null) {
      return Number(target.id.replace("bar-", ""));
    }
    const timeline = this.#timeline;
    const corner = this.#svg.getBoundingClientRect();
    const tick = this.#scale.invert(event.clientX - corner.left);
    const y = event.clientY - corner.top;
    const near = 2 / this.#perTick();
    return timeline?.bars.findIndex((bar) => {
      const drawn = bar.start - near <= tick && tick < bar.stop + near ? timeline.rows[bar.row] : undefined;
      const row = this.#layout.rows[bar.row];
      const box = drawn === undefined || row === undefined ? undefined : boxOf(bar, drawn, row);
      return box !== undefined && box.top <= y && y < box.top + box.height;
    });
  }

  /** The left edge of a bar in view: one that began before it is cut there, so its label shows. */
  #left(bar: Bar): number {
    return Math.max(-4, this.#x(bar.start));
  }

  #x(tick: number): number {
    return Math.min(this.#scale(tick), this.#width + 20);
  }

  /** What a bar does after its waiting; one that never ends is open to the right. */
  #shape(bar: Bar, box: Box): string {
    const left = this.#left(bar);
    const start = (bar.isOpen === true ? left : Math.max(left, this.#x(bar.ready))) - left;
    if (bar.isOpen === true) {
      const right = this.#width + 10 - left;
      return `M${right},0.5H${start + 0.5}V${box.height - 0.5}H${right}`;
    }
    const room = this.#perTick() > 5 && bar.kind !== "phase" ? 1 : 0;
    const right = Math.max(start + 1, this.#x(bar.stop) - left - room);
    return `M${start},0.5H${right}V${box.height - 0.5}H${start}Z`;
  }

  #label(bar: Bar): string {
    const left = this.#left(bar);
    if (bar.isOpen === true) {
      const missing = bar.missing === undefined || bar.kind === "blocked" ? "" : `: ${bar.missing.replace(/^it /, "")}`;
      return fitted(`${bar.label}${missing}`, this.#width - left, this.#character);
    }
    return fitted(bar.label, this.#x(bar.stop) - left, this.#character);
  }

  #classes({ number, bar }: Drawn): string {
    const states: readonly [string, boolean][] = [
      ["engine", bar.isEngine === true],
      ["open", bar.isOpen === true],
      ["lacking", bar.kind === "phase" && bar.missing !== undefined],
      ["odd", ((bar.phase ?? 0) & 1) === 1],
      ["selected", number === this.#selected],
      ["here", this.#here.has(number)],
      ["tiny", (bar.stop - bar.start) * this.#perTick() < SMALL && bar.isOpen !== true],
      ["clash", this.#clashing.has(number)],
    ];
    return ["bar", `kind-${bar.kind}`, ...states.flatMap(([name, holds]) => (holds ? [name] : []))].join(" ");
  }

  #drawArrows(timeline: Timeline, from: number, to: number): void {
    const all = this.#perTick() >= ALL_ARROWS;
    const shown = timeline.arrows.filter((arrow) => {
      const first = timeline.bars[arrow.first];
      const second = timeline.bars[arrow.second];
      if (first === undefined || second === undefined || second.stop < from || first.start > to) {
        return false;
      }
      return this.#isStrong(arrow) || (all && arrow.kind === "barrier");
    });
    this.#arrows
      .selectAll<SVGPathElement, Arrow>("path")
      .data(shown, ({ first, second }) => `${first}-${second}`)
      .join("path")
      .attr("class", (arrow) => `arrow${this.#isStrong(arrow) ? " strong" : wasWaitedFor(timeline, arrow) ? "" : " loose"}`)
      .attr("marker-end", (arrow) => `url(#${this.#isStrong(arrow) ? "head-strong" : "head"})`)
      .attr("d", (arrow) => this.#curve(timeline, arrow));
  }

  /** A stroke in a phase for each event that counted in it. */
  #drawMarks(timeline: Timeline, from: number, to: number): void {
    const arrows = this.#perTick() < ALL_ARROWS ? [] : timeline.arrows;
    const marks = arrows.flatMap((arrow) => {
      const drawn = timeline.bars[arrow.second]?.kind === "phase" ? this.#drawnOf(timeline, arrow.second) : undefined;
      const event = timeline.bars[arrow.first];
      const at = event === undefined ? Infinity : timeOf(event);
      return drawn === undefined || event === undefined || at < from || at > to ? [] : [{ drawn, event, at, arrow }];
    });
    this.#marks
      .selectAll<SVGLineElement, (typeof marks)[number]>("line")
      .data(marks, ({ arrow }) => `${arrow.first}-${arrow.second}`)
      .join("line")
      .attr("class", ({ event }) => `mark kind-${event.kind}`)
      .attr("x1", ({ at }) => this.#scale(at) - 1.5)
      .attr("x2", ({ at }) => this.#scale(at) - 1.5)
      .attr("y1", ({ drawn }) => drawn.box.top + drawn.box.height - 5)
      .attr("y2", ({ drawn }) => drawn.box.top + drawn.box.height);
  }

  #isStrong({ first, second }: Arrow): boolean {
    return this.#selected !== undefined && (first === this.#selected || second === this.#selected);
  }

  /** From where a cause ended to where what waited went on; upright where it went on at once. */
  #curve(timeline: Timeline, arrow: Arrow): string {
    const first = this.#drawnOf(timeline, arrow.first);
    const second = this.#drawnOf(timeline, arrow.second);
    if (first === undefined || second === undefined) {
      return "";
    }
    const isPhase = second.bar.kind === "phase";
    const start = this.#scale(timeOf(first.bar));
    const end = isPhase ? start : this.#scale(second.bar.isEngine === true ? second.bar.start : second.bar.ready);
    const isDown = second.box.top > first.box.top;
    const y0 = isDown ? first.box.top + first.box.height : first.box.top;
    const y1 = isDown ? second.box.top : second.box.top + second.box.height;
    const middle = (y0 + y1) / 2;
    return `M${start},${y0}C${start},${middle} ${end},${middle} ${end},${y1}`;
  }

  #drawnOf(timeline: Timeline, number: number): Drawn | undefined {
    const bar = timeline.bars[number];
    const row = bar === undefined ? undefined : timeline.rows[bar.row];
    const box = bar === undefined ? undefined : this.#layout.rows[bar.row];
    return bar === undefined || row === undefined || box === undefined
      ? undefined
      : { number, bar, box: boxOf(bar, row, box) };
  }

  #drawClashes(timeline: Timeline): void {
    const marks = timeline.clashes.flatMap(({ first, second }, number) =>
      [first, ...(second === null ? [] : [second])].flatMap((bar) => {
        const drawn = this.#drawnOf(timeline, bar);
        return drawn === undefined ? [] : [{ ...drawn, key: `${number}-${bar}` }];
      }),
    );
    this.#clashes
      .selectAll<SVGGElement, (typeof marks)[number]>("g")
      .data(marks, ({ key }) => key)
      .join((enter) => {
        const made = enter.append("g").attr("class", "badge");
        made.append("circle").attr("r", 6);
        made.append("text").attr("dy", "0.35em").text("!");
        return made;
      })
      .attr("transform", ({ bar, box }) => `translate(${this.#scale((bar.ready + bar.stop) / 2)},${box.top - 3})`);
    const links = timeline.clashes.flatMap(({ first, second }) => {
      const a = this.#drawnOf(timeline, first);
      const b = second === null ? undefined : this.#drawnOf(timeline, second);
      return a === undefined || b === undefined ? [] : [{ a, b }];
    });
    this.#clashes
      .selectAll<SVGPathElement, (typeof links)[number]>("path")
      .data(links)
      .join("path")
      .attr("class", "clash-link")
      .attr("d", ({ a, b }) => {
        const middle = ({ bar }: Drawn): number => this.#scale((bar.ready + bar.stop) / 2);
        return `M${middle(a)},${a.box.top + a.box.height / 2}L${middle(b)},${b.box.top + b.box.height / 2}`;
      });
  }

  #isRowInView(row: number): boolean {
    const box = this.#layout.rows[row];
    const top = this.root.scrollTop;
    return box !== undefined && box.top >= top && box.top + box.height <= top + this.root.clientHeight - AXIS;
  }

  #bringIntoView(number: number): void {
    const bar = this.#timeline?.bars[number];
    if (bar === undefined) {
      return;
    }
    const box = this.#layout.rows[bar.row];
    if (box !== undefined && !this.#isRowInView(bar.row)) {
      const room = this.root.clientHeight - AXIS;
      const isAbove = box.top < this.root.scrollTop;
      this.root.scrollTop = isAbove ? box.top - 30 : box.top + box.height + 30 - room;
    }
    const [from, to] = this.#ticks();
    const start = bar.isOpen === true ? bar.start : bar.ready;
    if (start < from || start + 1 > to) {
      const x = this.#base(start + 0.5);
      select(this.#svg).call((svg) => this.#zoom.translateTo(svg, x, 0, [this.#width / 2, 0]));
    }
  }

  #clicked(event: MouseEvent, takesFocus: boolean): void {
    const found = this.#barAt(event);
    const number = found === -1 ? undefined : found;
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
    const scale = this.#perTick() / (this.#base(1) - this.#base(0));
    select(this.#svg).call((svg) => this.#zoom.translateBy(svg, -pixels / scale, 0));
  }

  #pressed(event: KeyboardEvent): void {
    if (event.altKey || event.metaKey) {
      return;
    }
    if (this.#pressedToMove(event) || this.#pressedToLook(event)) {
      event.preventDefault();
      event.stopPropagation();
    }
  }

  #pressedToMove(event: KeyboardEvent): boolean {
    const timeline = this.#timeline;
    const move = event.ctrlKey || event.shiftKey ? undefined : MOVES[event.key];
    if (timeline === undefined) {
      return false;
    }
    const at = this.#selected;
    if (at === undefined) {
      const start = move === undefined ? undefined : this.#ordered.find((row) => row.length > 0)?.[0];
      this.select(start ?? at);
      return start !== undefined;
    }
    if (move !== undefined) {
      this.select(neighbour(timeline, this.#ordered, at, move));
      return true;
    }
    switch (event.key) {
      case "Enter":
        this.#listener.entered(at, true);
        return true;
      case " ":
        this.#listener.entered(at, false);
        return true;
      case "Escape":
        this.select(undefined);
        return true;
      case "[":
        this.select(timeline.arrows.find(({ second }) => second === at)?.first ?? at);
        return true;
      case "]":
        this.select(timeline.arrows.find(({ first, kind }) => first === at && kind !== "meeting")?.second ?? at);
        return true;
      default:
        return false;
    }
  }

  #pressedToLook(event: KeyboardEvent): boolean {
    switch (event.key) {
      case "+":
      case "=":
        this.zoomBy(1.5);
        return true;
      case "-":
        this.zoomBy(1 / 1.5);
        return true;
      case "0":
        this.fit();
        return true;
      case "ArrowLeft":
      case "ArrowRight":
        this.#pan((event.key === "ArrowLeft" ? -1 : 1) * (this.#width / 3));
        return true;
      default:
        return false;
    }
  }
}

const MOVES: Readonly<Partial<Record<string, Move>>> = {
  ArrowLeft: "left",
  ArrowRight: "right",
  ArrowUp: "up",
  ArrowDown: "down",
  Home: "first",
  End: "last",
};

/** Whether what went on had waited; else its cause was over before it came. */
function wasWaitedFor({ bars }: Timeline, { second }: Arrow): boolean {
  const bar = bars[second];
  return bar !== undefined && bar.ready > bar.start;
}

/** When what a bar shows took effect: of a step at once, of an engine's work at its end. */
function timeOf(bar: Bar): number {
  return bar.isEngine === true ? bar.stop : bar.ready;
}

/** The element that a selection has just made. */
function element<T extends Element>(made: Selection<T, unknown, null, undefined>): T {
  const node = made.node();
  if (node === null) {
    throw new Error("an element that was made is missing");
  }
  return node;
}

/** A text without the marks of code, for where there is only plain text. */
function plain(text: string): string {
  return text.replaceAll("`", "");
}

function addHatch(defs: Selection<SVGDefsElement, unknown, null, undefined>, id: string): void {
  const pattern = defs.append("pattern").attr("id", id).attr("class", id);
  pattern.attr("patternUnits", "userSpaceOnUse").attr("width", 6).attr("height", 6);
  pattern.append("rect").attr("width", 6).attr("height", 6);
  pattern.append("path").attr("d", "M-1,1L1,-1M0,6L6,0M5,7L7,5");
}

function addHead(defs: Selection<SVGDefsElement, unknown, null, undefined>, id: string): void {
  const marker = defs.append("marker").attr("id", id).attr("class", id).attr("orient", "auto");
  marker.attr("viewBox", "0 0 6 6").attr("refX", 5).attr("refY", 3);
  marker.attr("markerWidth", 6).attr("markerHeight", 6).attr("markerUnits", "userSpaceOnUse");
  marker.append("path").attr("d", "M0,0L6,3L0,6Z");
}
