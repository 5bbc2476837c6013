/** What stands below the chart: the chosen event with what it waited for, and the story of a stop. */
import type { Place, Timeline } from "./model";

export interface DetailsListener {
  readonly chosen: (bar: number) => void;
  readonly revealed: (place: Place) => void;
}

const MOST = 6; // causes and effects that are listed

export class Details {
  readonly root: HTMLElement;
  readonly #event: HTMLElement;
  readonly #story: HTMLElement;
  readonly #listener: DetailsListener;

  constructor(listener: DetailsListener) {
    this.#listener = listener;
    this.root = document.createElement("div");
    this.root.className = "details";
    this.#story = this.root.appendChild(document.createElement("section"));
    this.#story.className = "story";
    this.#event = this.root.appendChild(document.createElement("section"));
    this.#event.className = "event";
    this.#event.setAttribute("aria-live", "polite");
  }

  /** Tell the story of a timeline, or say that there is none to tell. */
  show(timeline: Timeline, file: string): void {
    this.#story.replaceChildren();
    const { story, clashes } = timeline;
    this.#story.hidden = story.length === 0;
    if (story.length > 0) {
      heading(this.#story, "How it came to this");
      const list = this.#story.appendChild(document.createElement("ol"));
      for (const step of story) {
        const item = list.appendChild(document.createElement("li"));
        item.value = step.number;
        item.append(this.#link(timeline, step.bar, step.text), " ", this.#place(timeline, step.at, file));
        item.classList.toggle("waits", timeline.bars[step.bar ?? -1]?.kind === "blocked");
      }
    }
    for (const clash of clashes.slice(0, MOST)) {
      const line = this.#story.appendChild(document.createElement("p"));
      line.className = "clash-text";
      line.append(this.#link(timeline, clash.second ?? clash.first, clash.text));
      this.#story.hidden = false;
    }
    this.choose(timeline, undefined, file);
  }

  /** Say all of one bar. */
  choose(timeline: Timeline, number: number | undefined, file: string): void {
    this.#event.replaceChildren();
    const bar = number === undefined ? undefined : timeline.bars[number];
    if (bar === undefined) {
      const help = this.#event.appendChild(document.createElement("p"));
      help.className = "help";
      help.textContent =
        "Click an event, or use the arrow keys: its line, what it waited for, and what waited for it. Enter goes to the line; [ and ] follow a handoff; + − 0 zoom; Shift with an arrow or the wheel pans.";
      return;
    }
    const said = this.#event.appendChild(document.createElement("p"));
    said.className = "said";
    said.append(...coded(bar.text), " ");
    if (bar.at !== null) {
      said.append(this.#place(timeline, bar.at, file));
    }
    const waited = bar.ready - bar.start;
    if (waited > 0 && bar.isOpen !== true) {
      const ticks = `Waited ${waited} tick${waited === 1 ? "" : "s"}, from ${bar.start} to ${bar.ready}.`;
      this.#event.appendChild(document.createElement("p")).textContent = ticks;
    }
    this.#list(timeline, bar.kind === "phase" ? "Counted in it" : "Waited for", causes(timeline, number));
    this.#list(timeline, "Let go", effects(timeline, number));
    for (const clash of timeline.clashes) {
      if (clash.first === number || clash.second === number) {
        const line = this.#event.appendChild(document.createElement("p"));
        line.className = "clash-text";
        const other = clash.first === number ? clash.second : clash.first;
        line.append(other === null ? clash.text : this.#link(timeline, other, clash.text));
      }
    }
  }

  #list(timeline: Timeline, title: string, bars: readonly number[]): void {
    if (bars.length === 0) {
      return;
    }
    heading(this.#event, title);
    const list = this.#event.appendChild(document.createElement("ul"));
    for (const number of bars.slice(0, MOST)) {
      list.appendChild(document.createElement("li")).append(this.#link(timeline, number, timeline.bars[number]?.text ?? ""));
    }
    if (bars.length > MOST) {
      list.appendChild(document.createElement("li")).textContent = `and ${bars.length - MOST} more`;
    }
  }

  #link(timeline: Timeline, number: number | null, text: string): HTMLElement {
    if (number === null || timeline.bars[number] === undefined) {
      const plain = document.createElement("span");
      plain.append(...coded(text));
      return plain;
    }
    // Not a button: a sentence of several lines has to flow.
    const link = document.createElement("span");
    link.className = "link";
    link.tabIndex = 0;
    link.setAttribute("role", "link");
    link.append(...coded(text));
    link.addEventListener("click", () => this.#listener.chosen(number));
    link.addEventListener("keydown", ({ key }) => {
      if (key === "Enter") {
        this.#listener.chosen(number);
      }
    });
    return link;
  }

  #place(timeline: Timeline, at: number, file: string): Node {
    const place = timeline.places[at];
    return place === undefined ? document.createTextNode("") : placeButton(place, file, this.#listener.revealed);
  }
}

/** A button that leads to a place: `line 12`, of another file by its name. */
export function placeButton(place: Place, file: string, reveal: (place: Place) => void): HTMLButtonElement {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "place";
  button.textContent = place.file === file ? `line ${place.row}` : `line ${place.row} of ${place.name}`;
  button.addEventListener("click", () => reveal(place));
  return button;
}

function causes(timeline: Timeline, number: number | undefined): readonly number[] {
  return timeline.arrows.flatMap(({ first, second }) => (second === number ? [first] : []));
}

function effects(timeline: Timeline, number: number | undefined): readonly number[] {
  return timeline.arrows.flatMap(({ first, second }) =>
    first === number && timeline.bars[second]?.kind !== "phase" ? [second] : [],
  );
}

function heading(parent: HTMLElement, text: string): void {
  parent.appendChild(document.createElement("h2")).textContent = text;
}

/** The parts of a text, those between backticks as code. Nothing of it is read as HTML. */
function coded(text: string): Node[] {
  return text.split("`").map((part, index) => {
    if (index % 2 === 0) {
      return document.createTextNode(part);
    }
    const code = document.createElement("code");
    code.textContent = part;
    return code;
  });
}
