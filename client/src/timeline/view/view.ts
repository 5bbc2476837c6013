/** The whole view: a head, the chart, and what is said below it. */
import { Chart } from "./chart";
import { Details, placeButton } from "./details";
import type { BarKind, Place, Shown, Timeline } from "./model";

/** What the view asks of whoever shows it. */
export interface Host {
  /** Show a place in the text, and put the keyboard there if it `takesFocus`. */
  readonly reveal: (place: Place, takesFocus: boolean) => void;
  readonly choose: (kernel: number) => void;
}

const LEGEND: readonly (readonly [BarKind, string])[] = [
  ["wait", "waits"],
  ["arrive", "arrives"],
  ["load", "TMA load"],
  ["mma", "MMA, commit"],
  ["tmem", "TMEM"],
  ["store", "TMA store"],
  ["touch", "SMEM"],
  ["meet", "meets"],
  ["blocked", "never goes on"],
];

export class View {
  readonly #host: Host;
  readonly #head: HTMLElement;
  readonly #notice: HTMLElement;
  readonly #main: HTMLElement;
  readonly #chart: Chart;
  readonly #details: Details;
  #shown: Shown | undefined;
  /** What the chart has: it keeps it while another reason or kernel is shown. */
  #drawn: { readonly kernel: string; readonly timeline: Timeline } | undefined;

  constructor(parent: HTMLElement, host: Host) {
    this.#host = host;
    this.#head = parent.appendChild(document.createElement("header"));
    this.#notice = parent.appendChild(document.createElement("p"));
    this.#notice.className = "notice";
    this.#notice.setAttribute("role", "status");
    this.#notice.hidden = true;
    this.#chart = new Chart({
      selected: (bar) => this.#said(bar),
      entered: (bar, takesFocus) => this.#reveal(bar, takesFocus),
    });
    this.#details = new Details({
      chosen: (bar) => {
        this.#chart.select(bar);
        this.#reveal(bar, false);
      },
      revealed: (place) => host.reveal(place, true),
    });
    this.#main = parent.appendChild(document.createElement("main"));
  }

  /**
   * Show a kernel's timeline, or why it has none; the ticks in view stay where it is the same.
   * Return the place of what went wrong, if anything did and it has just come up.
   */
  show(shown: Shown): Place | undefined {
    this.#shown = shown;
    this.#writeHead(shown);
    this.#notice.hidden = shown.stale === null;
    this.#notice.textContent = shown.stale ?? "";
    document.body.classList.toggle("stale", shown.stale !== null);
    const { timeline } = shown;
    if (timeline === null) {
      this.#main.replaceChildren(this.#why(shown));
      return undefined;
    }
    const kernel = shown.kernels[shown.chosen] ?? "";
    const isSame = this.#drawn?.kernel === kernel;
    if (this.#chart.root.parentElement !== this.#main) {
      this.#main.replaceChildren(this.#chart.root, this.#details.root);
    }
    if (isSame && JSON.stringify(this.#drawn?.timeline) === JSON.stringify(timeline)) {
      return undefined;
    }
    this.#drawn = { kernel, timeline };
    this.#details.show(timeline, shown.file);
    this.#chart.show(timeline, kernel, isSame);
    if (timeline.wrong === null || isSame) {
      return undefined;
    }
    this.#chart.select(timeline.wrong, false);
    return this.#placeOf(timeline.wrong);
  }

  /** Mark what is written on lines of a file, counted from 1. */
  cursor(file: string, first: number, last: number): void {
    const timeline = this.#timeline;
    if (timeline === undefined) {
      return;
    }
    this.#chart.mark(barsAt(timeline, file, first, last));
  }

  get #timeline(): Timeline | undefined {
    return this.#shown?.timeline ?? undefined;
  }

  #said(bar: number | undefined): void {
    const timeline = this.#timeline;
    if (timeline !== undefined) {
      this.#details.choose(timeline, bar, this.#shown?.file ?? "");
    }
  }

  #reveal(number: number, takesFocus: boolean): void {
    const place = this.#placeOf(number);
    if (place !== undefined) {
      this.#host.reveal(place, takesFocus);
    }
  }

  #placeOf(number: number | undefined): Place | undefined {
    const timeline = this.#timeline;
    return timeline?.places[timeline.bars[number ?? -1]?.at ?? -1];
  }

  #writeHead(shown: Shown): void {
    const { kernels, chosen, timeline } = shown;
    this.#head.replaceChildren();
    const title = this.#head.appendChild(document.createElement("h1"));
    if (kernels.length > 1) {
      const chooser = title.appendChild(document.createElement("select"));
      chooser.setAttribute("aria-label", "Kernel");
      kernels.forEach((name, number) => chooser.add(new Option(name, String(number), false, number === chosen)));
      chooser.addEventListener("change", () => this.#host.choose(chooser.selectedIndex));
    } else {
      title.textContent = kernels[chosen] ?? "";
    }
    if (timeline === null) {
      return;
    }
    const verdict = this.#head.appendChild(document.createElement("strong"));
    verdict.className = timeline.isBad ? "bad" : "good";
    verdict.textContent = timeline.verdict;
    const tools = this.#head.appendChild(document.createElement("div"));
    tools.className = "tools";
    tools.setAttribute("role", "toolbar");
    tools.setAttribute("aria-label", "Zoom");
    addTool(tools, "−", "Zoom out (-)", () => this.#chart.zoomBy(1 / 1.5));
    addTool(tools, "+", "Zoom in (+)", () => this.#chart.zoomBy(1.5));
    addTool(tools, "Fit", "Show everything (0)", () => this.#chart.fit());
    const legend = this.#head.appendChild(document.createElement("ul"));
    legend.className = "legend";
    const kinds = new Set(timeline.bars.map(({ kind }) => kind));
    for (const [kind, text] of LEGEND.filter(([each]) => kinds.has(each))) {
      const item = legend.appendChild(document.createElement("li"));
      item.appendChild(document.createElement("i")).className = `swatch kind-${kind}`;
      item.append(text);
    }
  }

  #why({ why, file }: Shown): HTMLElement {
    const element = document.createElement("div");
    element.className = "why";
    const said = element.appendChild(document.createElement("p"));
    said.append(`There is no timeline of this kernel: ${why?.reason ?? "it could not be run"}. `);
    if (why !== null && why.place !== null) {
      said.append(placeButton(why.place, file, (place) => this.#host.reveal(place, true)));
    }
    const more = element.appendChild(document.createElement("p"));
    more.className = "help";
    more.textContent = "A kernel is run only where every wait, arrival and loop of it is known. It may be right all the same.";
    return element;
  }
}

/** The bars that are written on some lines: of the smallest statements there, in order of time. */
function barsAt(timeline: Timeline, file: string, first: number, last: number): readonly number[] {
  const touched = timeline.places.map(
    (place) => place.file === file && place.row <= last && first <= place.endRow,
  );
  const heights = timeline.places.flatMap(({ row, endRow }, number) => (touched[number] === true ? [endRow - row] : []));
  const least = Math.min(...heights);
  const isMeant = (at: number): boolean => {
    const place = timeline.places[at];
    return touched[at] === true && place !== undefined && (first !== last || place.endRow - place.row === least);
  };
  return timeline.bars.flatMap((bar, number) =>
    bar.at !== null && bar.kind !== "phase" && isMeant(bar.at) ? [number] : [],
  );
}

function addTool(parent: HTMLElement, text: string, title: string, run: () => void): void {
  const button = parent.appendChild(document.createElement("button"));
  button.type = "button";
  button.textContent = text;
  button.title = title;
  button.setAttribute("aria-label", title);
  button.addEventListener("click", run);
}
