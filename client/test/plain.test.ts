import assert from "node:assert/strict";
import { test } from "node:test";
import { plain } from "../src/ui/plain";

// How VS Code finds links in notifications and icons in labels.
const LINK = /\[([^\]]+)\]\(((?:https?:\/\/|command:|file:)[^)\s]+)/i;
const ICON = /\$\([A-Za-z0-9~-]+\)/;

test("no text of a host is a link or an icon", () => {
  const said = "gpu1: [click](command:workbench.action.terminal.new) $(error) [x](https://example.org)";
  assert.match(said, LINK);
  assert.match(said, ICON);
  assert.doesNotMatch(plain(said), LINK);
  assert.doesNotMatch(plain(said), ICON);
  assert.match(plain(said), /click.*command:workbench/, "nothing is left out");
});

test("control characters and those that turn the direction of writing are spelled out", () => {
  assert.equal(plain("a\u001b[31m\u202e\u2066c\u0000"), "a\\u001b[31m\\u202e\\u2066c\\u0000");
  assert.equal(plain("one\r\n\ttwo\nthree"), "one two three");
});

test("other texts stay as they are", () => {
  const text = "内核 f(x)[0] costs $5 (see docs) — “quoted”";
  assert.equal(plain(text), text);
});
