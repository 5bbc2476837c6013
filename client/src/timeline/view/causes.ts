/** Draws what ties bars together: arrows from causes, strokes in phases, clashes over storage. */
import type { Group } from "./frame";
import type { Arrow, Timeline } from "./model";
import { timeOf, type Drawn, type Sight } from "./sight";

const ALL_ARROWS = 3; // pixels a tick, below which arrows would hide the bars

/** Draw the arrows that are in view: those of the selected bar, and of barriers where there is room. */
export function drawArrows(group: Group, sight: Sight, selected: number | undefined): void {
  const { timeline } = sight;
  const all = sight.pixelsPerTick >= ALL_ARROWS;
  const isStrong = ({ first, second }: Arrow): boolean =>
    selected !== undefined && (first === selected || second === selected);
  const shown = timeline.arrows.filter((arrow) => {
    const first = timeline.bars[arrow.first];
    const second = timeline.bars[arrow.second];
    if (first === undefined || second === undefined || second.stop < sight.from || first.start > sight.to) {
      return false;
    }
    return isStrong(arrow) || (all && arrow.kind === "barrier");
  });
  group
    .selectAll<SVGPathElement, Arrow>("path")
    .data(shown, ({ first, second }) => `${first}-${second}`)
    .join("path")
    .attr("class", (arrow) => `arrow${isStrong(arrow) ? " strong" : wasWaitedFor(timeline, arrow) ? "" : " loose"}`)
    .attr("marker-end", (arrow) => `url(#${isStrong(arrow) ? "head-strong" : "head"})`)
    .attr("d", (arrow) => curve(sight, arrow));
}

/** Draw a stroke in a phase for each event that counted in it. */
export function drawMarks(group: Group, sight: Sight): void {
  const { timeline } = sight;
  const arrows = sight.pixelsPerTick < ALL_ARROWS ? [] : timeline.arrows;
  const marks = arrows.flatMap((arrow) => {
    const drawn = timeline.bars[arrow.second]?.kind === "phase" ? sight.drawn(arrow.second) : undefined;
    const event = timeline.bars[arrow.first];
    const at = event === undefined ? Infinity : timeOf(event);
    return drawn === undefined || event === undefined || at < sight.from || at > sight.to
      ? []
      : [{ drawn, event, at, arrow }];
  });
  group
    .selectAll<SVGLineElement, (typeof marks)[number]>("line")
    .data(marks, ({ arrow }) => `${arrow.first}-${arrow.second}`)
    .join("line")
    .attr("class", ({ event }) => `mark kind-${event.kind}`)
    .attr("x1", ({ at }) => sight.scale(at) - 1.5)
    .attr("x2", ({ at }) => sight.scale(at) - 1.5)
    .attr("y1", ({ drawn }) => drawn.box.top + drawn.box.height - 5)
    .attr("y2", ({ drawn }) => drawn.box.top + drawn.box.height);
}

/** Draw a badge at each bar of a clash, and a line between the two. */
export function drawClashes(group: Group, sight: Sight): void {
  const { clashes } = sight.timeline;
  const marks = clashes.flatMap(({ first, second }, number) =>
    [first, ...(second === null ? [] : [second])].flatMap((bar) => {
      const drawn = sight.drawn(bar);
      return drawn === undefined ? [] : [{ ...drawn, key: `${number}-${bar}` }];
    }),
  );
  group
    .selectAll<SVGGElement, (typeof marks)[number]>("g")
    .data(marks, ({ key }) => key)
    .join((enter) => {
      const made = enter.append("g").attr("class", "badge");
      made.append("circle").attr("r", 6);
      made.append("text").attr("dy", "0.35em").text("!");
      return made;
    })
    .attr("transform", ({ bar, box }) => `translate(${sight.middle(bar)},${box.top - 3})`);
  const links = clashes.flatMap(({ first, second }) => {
    const a = sight.drawn(first);
    const b = second === null ? undefined : sight.drawn(second);
    return a === undefined || b === undefined ? [] : [{ a, b }];
  });
  const centre = ({ bar, box }: Drawn): string => `${sight.middle(bar)},${box.top + box.height / 2}`;
  group
    .selectAll<SVGPathElement, (typeof links)[number]>("path")
    .data(links)
    .join("path")
    .attr("class", "clash-link")
    .attr("d", ({ a, b }) => `M${centre(a)}L${centre(b)}`);
}

/** From where a cause ended to where what waited went on; upright where it went on at once. */
function curve(sight: Sight, arrow: Arrow): string {
  const first = sight.drawn(arrow.first);
  const second = sight.drawn(arrow.second);
  if (first === undefined || second === undefined) {
    return "";
  }
  const isPhase = second.bar.kind === "phase";
  const start = sight.scale(timeOf(first.bar));
  const end = isPhase ? start : sight.scale(second.bar.isEngine === true ? second.bar.start : second.bar.ready);
  const isDown = second.box.top > first.box.top;
  const y0 = isDown ? first.box.top + first.box.height : first.box.top;
  const y1 = isDown ? second.box.top : second.box.top + second.box.height;
  const middle = (y0 + y1) / 2;
  return `M${start},${y0}C${start},${middle} ${end},${middle} ${end},${y1}`;
}

/** Whether what went on had waited; else its cause was over before it came. */
function wasWaitedFor({ bars }: Timeline, { second }: Arrow): boolean {
  const bar = bars[second];
  return bar !== undefined && bar.ready > bar.start;
}
