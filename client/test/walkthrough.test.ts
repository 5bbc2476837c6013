import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";

interface Step {
  readonly id: string;
  readonly description: string;
  readonly media: { readonly svg: string; readonly altText: string };
  readonly completionEvents: readonly string[];
}

interface Manifest {
  readonly contributes: {
    readonly commands: readonly { readonly command: string }[];
    readonly walkthroughs: readonly { readonly id: string; readonly steps: readonly Step[] }[];
    readonly configuration: { readonly properties: Readonly<Record<string, unknown>> };
  };
}

const ROOT = process.env.TIRX_LENS_ROOT ?? process.cwd();
const { contributes } = JSON.parse(readFileSync(path.join(ROOT, "package.json"), "utf8")) as Manifest;
const COMMANDS = contributes.commands.map(({ command }) => command);
const STEPS = contributes.walkthroughs[0]?.steps ?? [];
const SOURCE = readFileSync(path.join(ROOT, "client/src/welcome/walkthrough.ts"), "utf8");

test("there is one walkthrough, of six steps", () => {
  assert.equal(contributes.walkthroughs.length, 1);
  assert.equal(new Set(STEPS.map(({ id }) => id)).size, 6);
});

for (const { id, description, media, completionEvents } of STEPS) {
  test(`${id}: its picture is there, small, and in the colours of the theme`, () => {
    const file = path.join(ROOT, media.svg);
    assert.ok(existsSync(file) && statSync(file).size < 8_000);
    const colours = [...readFileSync(file, "utf8").matchAll(/(?:fill|stroke)="([^"]*)"/g)].map(([, colour]) => colour ?? "");
    assert.ok(colours.length > 3);
    assert.deepEqual(colours.filter((colour) => colour !== "none" && !colour.startsWith("var(--vscode-")), []);
    assert.ok(media.altText.length > 20);
  });

  test(`${id}: its links are commands that there are, and its end is a real event`, () => {
    for (const [, name = "", words] of description.matchAll(/\(command:([\w.-]+)(?:\?([^)]*))?\)/g)) {
      assert.ok(COMMANDS.includes(name) || name.startsWith("workbench.action."), name);
      const [said] = words === undefined ? [] : (JSON.parse(decodeURIComponent(words)) as string[]);
      if (name === "tirx-lens.openSample" && said !== undefined) {
        assert.match(SOURCE, new RegExp(`^  ${said}: "tirx-lens\\.show`, "m"));
      } else if (said !== undefined) {
        assert.ok(said in contributes.configuration.properties, said);
      }
    }
    assert.ok(completionEvents.length > 0);
    for (const event of completionEvents) {
      const kind = event.slice(0, event.indexOf(":"));
      const what = event.slice(kind.length + 1);
      if (kind === "onCommand") {
        assert.ok(COMMANDS.includes(what), what);
      } else if (kind === "onLink") {
        assert.ok(description.includes(`(${what})`), what);
      } else {
        assert.equal(kind, "onContext");
        assert.ok(SOURCE.includes(`"${what.replace("tirx-lens.", "")}"`), what);
      }
    }
  });
}
