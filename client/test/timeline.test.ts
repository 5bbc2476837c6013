import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { scaleLinear } from "d3-scale";
import { boxOf, firstTicks, fitted, inOrder, layOut, nearest, neighbour } from "../src/timeline/view/layout";
import { actionOf } from "../src/timeline/view/keys";
import type { Bar, Row, Timeline } from "../src/timeline/view/model";
import { Sight } from "../src/timeline/view/sight";

const ROOT = process.env.TIRX_LENS_ROOT ?? process.cwd();

function row(part: Partial<Row> = {}): Row {
  return { kind: "role", title: "", name: "", detail: "", cta: 0, group: "warpgroup 0", lanes: 1, isQuiet: false, ...part };
}

function bar(part: Partial<Bar>): Bar {
  const start = part.start ?? 0;
  return { kind: "wait", row: 0, lane: 0, start, stop: start + 1, ready: start, label: "", text: "", at: null, ...part };
}

function timeline(part: Partial<Timeline>): Timeline {
  const empty = { arrows: [], clashes: [], story: [], places: [], rows: [], bars: [] };
  return { verdict: "", isBad: false, wrong: null, size: "", end: 100, ...empty, ...part };
}

/** Two roles, an empty one between them, and an engine's lane in the first. */
const EXAMPLE = timeline({
  rows: [row({ lanes: 2 }), row(), row({ group: "warpgroup 1" })],
  bars: [
    bar({ start: 5 }),
    bar({ start: 0, stop: 5 }),
    bar({ lane: 1, start: 5, stop: 9 }),
    bar({ row: 2, start: 1 }),
    bar({ row: 2, start: 4, stop: 8, ready: 7 }),
  ],
});

test("rows stand below one another, with a header for each group, and CTAs named where there are several", () => {
  const { headers, rows, height } = layOut(EXAMPLE.rows);
  assert.deepEqual(headers.map(({ title }) => title), ["warpgroup 0", "warpgroup 1"]);
  for (const [number, box] of rows.slice(1).entries()) {
    const above = rows[number];
    assert.ok(above !== undefined && box.top >= above.top + above.height);
  }
  const last = rows.at(-1);
  assert.ok(last !== undefined && height >= last.top + last.height);
  const several = layOut([row(), row({ cta: 1 })]);
  assert.deepEqual(several.headers.map(({ title }) => title), ["CTA 0 · warpgroup 0", "CTA 1 · warpgroup 0"]);
});

test("the lanes of a row do not overlap and end within it", () => {
  const first = row({ lanes: 3 });
  const [box] = layOut([first]).rows;
  assert.ok(box !== undefined);
  const lanes = [0, 1, 2].map((lane) => boxOf(bar({ lane }), first, box));
  lanes.slice(1).forEach((lane, above) => {
    const before = lanes[above];
    assert.ok(before !== undefined && lane.top >= before.top + before.height);
  });
  const last = lanes.at(-1);
  assert.ok(last !== undefined && last.top + last.height <= box.top + box.height);
});

test("the arrow keys go along a row by time, and to the next row that has anything, at the same time", () => {
  const ordered = inOrder(EXAMPLE);
  assert.deepEqual(ordered, [[1, 0, 2], [], [3, 4]]);
  assert.equal(neighbour(EXAMPLE, ordered, 1, "right"), 0);
  assert.equal(neighbour(EXAMPLE, ordered, 1, "left"), 1);
  assert.equal(neighbour(EXAMPLE, ordered, 1, "last"), 2);
  assert.equal(neighbour(EXAMPLE, ordered, 2, "first"), 1);
  assert.equal(neighbour(EXAMPLE, ordered, 0, "down"), 4);
  assert.equal(neighbour(EXAMPLE, ordered, 4, "down"), 4);
  assert.equal(neighbour(EXAMPLE, ordered, 3, "up"), 1);
  assert.equal(nearest(EXAMPLE, [], 0), undefined);
});

test("what is shown first is all, or what can be read, around what went wrong", () => {
  assert.deepEqual(firstTicks(timeline({ end: 20 }), 1000, 10), [0, 20]);
  assert.deepEqual(firstTicks(timeline({}), 300, 10), [0, 30]);
  const stopped = timeline({ bars: [bar({ kind: "blocked", start: 3 })], wrong: 0 });
  assert.deepEqual(firstTicks(stopped, 300, 10), [70, 100]);
  const race = timeline({ bars: [bar({ start: 50 })], wrong: 0 });
  assert.deepEqual(firstTicks(race, 300, 10), [35, 65]);
  const late = timeline({ bars: [bar({ start: 99 })], wrong: 0 });
  assert.deepEqual(firstTicks(late, 300, 10), [70, 100]);
});

test("labels are cut to the room there is", () => {
  assert.equal(fitted("full[2] phase 1", 200, 6), "full[2] phase 1");
  assert.equal(fitted("full[2] phase 1", 66, 6), "full[2] p…");
  assert.equal(fitted("full[2] phase 1", 20, 6), "");
  assert.equal(fitted("MMA", 25, 6), "MMA");
});

test("the command line's page has the view as it is built now", { timeout: 60_000 }, () => {
  const folder = mkdtempSync(path.join(tmpdir(), "tirx-lens-view-"));
  try {
    const made = spawnSync(process.execPath, ["esbuild.mjs", "--view", folder], { cwd: ROOT, encoding: "utf8" });
    assert.equal(made.status, 0, made.stderr);
    for (const name of ["timeline.js", "timeline.css"]) {
      const built = readFileSync(path.join(folder, name), "utf8");
      const carried = readFileSync(path.join(ROOT, "server/tirx_lens/report/page", name), "utf8");
      assert.ok(built === carried, `${name} is older than its source: run node esbuild.mjs`);
      assert.ok(!/\beval\(|new Function\(|<\/script/.test(built));
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

/** The example with the ticks from `from` on in view, ten pixels each. */
function sightFrom(from: number, ticks = 10): Sight {
  const scale = scaleLinear().domain([from, from + ticks]).range([0, 100]);
  return new Sight(EXAMPLE, layOut(EXAMPLE.rows), scale, 100, 5);
}

test("bars in view are those whose ticks and rows are, and an open one has no end", () => {
  const sight = sightFrom(6, 20);
  const all = sight.bars(0, sight.layout.height);
  assert.deepEqual(all.map(({ number }) => number), [0, 2, 4]);
  const [first] = sight.layout.rows;
  assert.ok(first !== undefined);
  assert.deepEqual(sight.bars(0, first.top + 1).map(({ number }) => number), [0, 2]);
  assert.ok(sight.shows(bar({ start: 1, isOpen: true })));
  assert.ok(!sight.shows(bar({ start: 27, isOpen: true })));
  assert.deepEqual([sight.from, sight.to, sight.pixelsPerTick], [6, 26, 5]);
});

test("a bar is cut at the left edge, is small below six pixels, and is found at a point of it", () => {
  const sight = sightFrom(4);
  assert.equal(sight.left(bar({ start: 0 })), -4);
  assert.equal(sight.left(bar({ start: 6 })), 20);
  assert.equal(sight.x(1000), 120);
  assert.ok(!sight.isSmall(bar({})));
  assert.ok(sightFrom(0, 20).isSmall(bar({})));
  assert.ok(!sightFrom(0, 20).isSmall(bar({ isOpen: true })));
  const drawn = sight.drawn(2);
  assert.ok(drawn !== undefined);
  assert.equal(sight.barAt(30, drawn.box.top + 1), 2);
  assert.equal(sight.barAt(30, sight.layout.height + 1), -1);
  assert.equal(sight.drawn(99), undefined);
  assert.equal(sight.label(bar({ start: 4, stop: 8, label: "full[0]" })), "full[…");
  assert.equal(sight.label(bar({ start: 4, isOpen: true, label: "full", missing: "it wants 1 arrival" })), "full: wants 1 arr…");
});

test("keys go through bars and look elsewhere, and leave the editor's own alone", () => {
  const pressed = (key: string, more: Partial<Record<"altKey" | "metaKey" | "ctrlKey" | "shiftKey", boolean>> = {}) =>
    actionOf({ key, altKey: false, metaKey: false, ctrlKey: false, shiftKey: false, ...more });
  assert.deepEqual(pressed("ArrowUp"), { kind: "move", to: "up" });
  assert.deepEqual(pressed("ArrowLeft", { shiftKey: true }), { kind: "pan", screens: -1 / 3 });
  assert.deepEqual(pressed("ArrowRight", { ctrlKey: true }), { kind: "pan", screens: 1 / 3 });
  assert.deepEqual([pressed("Enter"), pressed(" ")].map((one) => one?.kind === "enter" && one.takesFocus), [true, false]);
  assert.deepEqual(["Escape", "[", "]", "0"].map((key) => pressed(key)?.kind), ["leave", "cause", "effect", "fit"]);
  const [larger, smaller] = [pressed("+"), pressed("-")];
  assert.ok(larger?.kind === "zoom" && smaller?.kind === "zoom" && larger.factor * smaller.factor === 1);
  for (const one of [pressed("a"), pressed("ArrowLeft", { altKey: true }), pressed("0", { metaKey: true }), pressed("ArrowUp", { ctrlKey: true })]) {
    assert.equal(one, undefined);
  }
});
