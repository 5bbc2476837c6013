/** Draws bars: each alone, or those too small to be told apart as one path. */
import type { Group } from "./frame";
import type { Box } from "./layout";
import type { Bar } from "./model";
import type { Drawn, Sight } from "./sight";

/** What bars are marked for. */
export interface Marked {
  /** The one that the keyboard is at. */
  readonly selected: number | undefined;
  /** Those of the line with the cursor. */
  readonly here: ReadonlySet<number>;
  readonly clashing: ReadonlySet<number>;
}

/** Small bars of one kind in one lane, as one path. */
interface Together {
  readonly key: string;
  readonly className: string;
  path: string;
}

/** Draw the bars of rows between two heights. */
export function drawBars(alone: Group, together: Group, sight: Sight, marked: Marked, top: number, bottom: number): void {
  const large: Drawn[] = [];
  const small = new Map<string, Together>();
  for (const drawn of sight.bars(top, bottom)) {
    if (sight.isSmall(drawn.bar) && !standsOut(drawn.number, marked)) {
      addSmall(small, drawn, sight);
    } else {
      large.push(drawn);
    }
  }
  together
    .selectAll<SVGPathElement, Together>("path")
    .data([...small.values()], ({ key }) => key)
    .join("path")
    .attr("class", ({ className }) => className)
    .attr("d", ({ path }) => path);
  drawLarge(alone, large, sight, marked);
}

/** The number of the bar that an element is, or is in. */
export function barOf(target: EventTarget | null): number | undefined {
  const found = target instanceof Element ? target.closest("g.bar") : null;
  return found === null ? undefined : Number(found.id.replace("bar-", ""));
}

function standsOut(number: number, { selected, here, clashing }: Marked): boolean {
  return number === selected || here.has(number) || clashing.has(number);
}

function addSmall(together: Map<string, Together>, { bar, box }: Drawn, { scale }: Sight): void {
  const add = (part: string, from: number, to: number): void => {
    const key = `${bar.row}-${bar.lane}-${part}`;
    const known = together.get(key) ?? { key, className: `together ${part}`, path: "" };
    const left = scale(from);
    const right = Math.max(left + 0.75, scale(to));
    known.path += `M${left.toFixed(1)},${box.top}H${right.toFixed(1)}V${box.top + box.height}H${left.toFixed(1)}Z`;
    together.set(key, known);
  };
  const odd = bar.kind === "phase" && isOdd(bar) ? " odd" : "";
  if (bar.ready > bar.start) {
    add("waiting", bar.start, bar.ready);
  }
  if (bar.stop > bar.ready) {
    add(`kind-${bar.kind}${bar.isEngine === true ? " engine" : ""}${odd}`, bar.ready, bar.stop);
  }
}

function drawLarge(alone: Group, large: readonly Drawn[], sight: Sight, marked: Marked): void {
  const groups = alone
    .selectAll<SVGGElement, Drawn>("g.bar")
    .data(large, ({ number }) => number)
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
    .attr("class", (drawn) => classes(drawn, sight, marked))
    .attr("transform", ({ bar, box }) => `translate(${sight.left(bar)},${box.top})`);
  groups
    .select(".waiting")
    .attr("width", ({ bar }) => Math.max(0, sight.x(bar.ready) - sight.left(bar)))
    .attr("height", ({ box }) => box.height);
  groups.select(".done").attr("d", ({ bar, box }) => shape(bar, box, sight));
  groups
    .select("text")
    .attr("x", ({ bar }) => (sight.x(bar.start) < -4 ? 8 : 4))
    .attr("y", ({ box }) => box.height / 2)
    .text(({ bar, box }) => (box.height < 11 ? "" : sight.label(bar)));
}

/** What a bar does after its waiting; one that never ends is open to the right. */
function shape(bar: Bar, box: Box, sight: Sight): string {
  const left = sight.left(bar);
  const start = (bar.isOpen === true ? left : Math.max(left, sight.x(bar.ready))) - left;
  if (bar.isOpen === true) {
    const right = sight.width + 10 - left;
    return `M${right},0.5H${start + 0.5}V${box.height - 0.5}H${right}`;
  }
  const room = sight.pixelsPerTick > 5 && bar.kind !== "phase" ? 1 : 0;
  const right = Math.max(start + 1, sight.x(bar.stop) - left - room);
  return `M${start},0.5H${right}V${box.height - 0.5}H${start}Z`;
}

function classes({ number, bar }: Drawn, sight: Sight, { selected, here, clashing }: Marked): string {
  const states: readonly [string, boolean][] = [
    ["engine", bar.isEngine === true],
    ["open", bar.isOpen === true],
    ["lacking", bar.kind === "phase" && bar.missing !== undefined],
    ["odd", isOdd(bar)],
    ["selected", number === selected],
    ["here", here.has(number)],
    ["tiny", sight.isSmall(bar)],
    ["clash", clashing.has(number)],
  ];
  return ["bar", `kind-${bar.kind}`, ...states.flatMap(([name, holds]) => (holds ? [name] : []))].join(" ");
}

function isOdd({ phase = 0 }: Bar): boolean {
  return (phase & 1) === 1;
}

/** A text without the marks of code, for where there is only plain text. */
function plain(text: string): string {
  return text.replaceAll("`", "");
}
