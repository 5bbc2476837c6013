import assert from "node:assert/strict";
import { test } from "node:test";
import { SettingValues } from "../src/settingValues";

const values = (settings: Record<string, unknown>): SettingValues =>
  new SettingValues("tirx-lens", (name) => settings[name]);

test("values of the right kind are taken, and what is not set has its default", () => {
  const read = values({ enable: false, path: "~/lens", args: ["-v"], interpreter: "python3", level: "debug" });
  assert.equal(read.flag("enable", true), false);
  assert.equal(read.text("path", ""), "~/lens");
  assert.deepEqual(read.list("args"), ["-v"]);
  assert.deepEqual(read.list("interpreter"), ["python3"]);
  assert.equal(read.oneOf("level", ["info", "debug"], "info"), "debug");
  assert.equal(read.text("nothing", "x"), "x");
  assert.deepEqual(read.problems, []);
});

test("each value of another kind is told with what is used instead", () => {
  const read = values({ enable: "yes", path: 3, args: ["-v", 3], interpreter: { a: "x".repeat(200) }, level: "loud" });
  assert.equal(read.flag("enable", true), true);
  assert.equal(read.text("path", ""), "");
  assert.deepEqual(read.list("args"), []);
  assert.deepEqual(read.list("interpreter"), []);
  assert.equal(read.oneOf("level", ["info", "debug"], "info"), "info");
  assert.equal(read.problems.length, 5);
  assert.equal(read.problems[0], 'setting tirx-lens.enable must be true or false, not "yes"; using true');
  assert.equal(read.problems[2], 'setting tirx-lens.args must be a list of strings, not ["-v",3]; using []');
  assert.equal(read.problems[4], 'setting tirx-lens.level must be one of info, debug, not "loud"; using "info"');
  assert.ok(read.problems.every((problem) => problem.length < 200));
});
