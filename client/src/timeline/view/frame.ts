/** What a chart stands in: the axis with its rail, the labels of rows, and the layers of the plot. */
import { axisTop } from "d3-axis";
import { select, type Selection } from "d3-selection";
import type { Box, Layout } from "./layout";
import type { Row } from "./model";
import type { Sight } from "./sight";

/** The height of the axis in pixels: rows are seen below it. */
export const AXIS = 24;

export type Group = Selection<SVGGElement, unknown, null, undefined>;

export class Frame {
  readonly root: HTMLElement;
  readonly labels: HTMLElement;
  readonly svg: SVGSVGElement;
  readonly together: Group;
  readonly bars: Group;
  readonly marks: Group;
  readonly arrows: Group;
  readonly clashes: Group;
  readonly #axis: Group;
  readonly #bands: Group;
  readonly #window: HTMLElement;

  constructor() {
    const root = select(document.createElement("div")).attr("class", "chart").attr("tabindex", 0);
    root.attr("role", "application").attr("aria-roledescription", "timeline");
    const top = root.append("div").attr("class", "axis");
    top.append("div").attr("class", "corner").text("ticks: order, not time");
    this.#axis = top.append("svg").attr("height", AXIS).attr("aria-hidden", "true").append("g");
    this.#axis.attr("transform", `translate(0,${AXIS - 1})`);
    this.#window = element(top.append("div").attr("class", "rail").append("div"));
    const body = root.append("div").attr("class", "body");
    this.labels = element(body.append("div").attr("class", "labels"));
    const svg = body.append("svg").attr("class", "plot");
    const defs = svg.append("defs");
    addHatch(defs, "hatch-wait");
    addHatch(defs, "hatch-blocked");
    addHead(defs, "head");
    addHead(defs, "head-strong");
    this.#bands = svg.append("g");
    this.together = svg.append("g").attr("aria-hidden", "true");
    this.bars = svg.append("g");
    this.marks = svg.append("g").attr("aria-hidden", "true");
    this.arrows = svg.append("g").attr("aria-hidden", "true");
    this.clashes = svg.append("g").attr("aria-hidden", "true");
    this.svg = element(svg);
    this.root = element(root);
  }

  /** Write the names of rows and groups beside the plot. */
  writeLabels(rows: readonly Row[], layout: Layout): void {
    this.labels.replaceChildren();
    this.labels.style.height = `${layout.height}px`;
    for (const header of layout.headers) {
      const label = this.labels.appendChild(document.createElement("div"));
      label.className = "group";
      label.style.top = `${header.top}px`;
      label.textContent = header.title;
    }
    rows.forEach((row, number) => {
      const box = layout.rows[number];
      const label = this.labels.appendChild(document.createElement("div"));
      label.className = `label ${row.kind}${row.isQuiet ? " quiet" : ""}`;
      label.style.top = `${box?.top ?? 0}px`;
      label.style.height = `${box?.height ?? 0}px`;
      label.title = `${row.name.replaceAll("`", "")}${row.detail === "" ? "" : `: ${row.detail}`}`;
      label.appendChild(document.createElement("span")).textContent = row.title;
      label.appendChild(document.createElement("small")).textContent = row.detail;
    });
  }

  /** Fill the room there is beside the labels; its width in pixels. */
  fill(layout: Layout): number {
    const width = Math.max(1, this.root.clientWidth - this.labels.offsetWidth);
    this.svg.setAttribute("width", String(width));
    this.svg.setAttribute("height", String(layout.height));
    select(this.#axis.node()?.ownerSVGElement ?? null).attr("width", width);
    this.#bands
      .selectAll<SVGRectElement, Box>("rect")
      .data(layout.rows)
      .join("rect")
      .attr("class", (_, number) => `band${number % 2 === 1 ? " odd" : ""}`)
      .attr("y", ({ top }) => top)
      .attr("height", ({ height }) => height)
      .attr("width", width);
    this.#bands
      .selectAll<SVGLineElement, Layout["headers"][number]>("line")
      .data(layout.headers)
      .join("line")
      .attr("class", "divider")
      .attr("x2", width)
      .attr("y1", ({ top }) => top + 0.5)
      .attr("y2", ({ top }) => top + 0.5);
    return width;
  }

  /** The width of a character of a label in pixels. */
  character(): number {
    const probe = select(this.svg).append("text").attr("class", "probe").text("0123456789");
    const length = (probe.node()?.getComputedTextLength() ?? 66) / 10;
    probe.remove();
    return length || 6.6;
  }

  /** Draw the axis, and on the rail which part of the whole is in view. */
  drawAxis({ scale, width, timeline, from, to }: Sight): void {
    this.#axis.call(axisTop(scale).ticks(Math.max(2, width / 80)).tickSizeOuter(0));
    const share = 100 / Math.max(1e-6, timeline.end);
    this.#window.style.left = `${from * share}%`;
    this.#window.style.width = `${(to - from) * share}%`;
  }
}

/** The element that a selection has just made. */
function element<T extends Element>(made: Selection<T, unknown, null, undefined>): T {
  const node = made.node();
  if (node === null) {
    throw new Error("an element that was made is missing");
  }
  return node;
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
