import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";

interface Property {
  readonly scope: string;
}

interface Manifest {
  readonly capabilities: { readonly untrustedWorkspaces: { readonly restrictedConfigurations: readonly string[] } };
  readonly contributes: {
    readonly configuration: { readonly properties: Readonly<Record<string, Property>> };
    readonly commands: readonly { readonly command: string }[];
  };
}

const ROOT = process.env.TIRX_LENS_ROOT ?? process.cwd();
const MANIFEST = JSON.parse(readFileSync(path.join(ROOT, "package.json"), "utf8")) as Manifest;
const SETTINGS = MANIFEST.contributes.configuration.properties;
const RESTRICTED = MANIFEST.capabilities.untrustedWorkspaces.restrictedConfigurations;

/** Those that name no program, host, path or variable and turn nothing on that is executed. */
const HARMLESS: readonly string[] = [
  "tirx-lens.enable",
  "tirx-lens.select",
  "tirx-lens.ignore",
  "tirx-lens.build.arch",
  "tirx-lens.build.timeLimit",
  "tirx-lens.inlayHints.participants",
  "tirx-lens.inlayHints.arrivals",
  "tirx-lens.codeLens",
  "tirx-lens.trace.server",
];

for (const [name, { scope }] of Object.entries(SETTINGS)) {
  test(`no cloned repository sets ${name}, or it is harmless`, () => {
    const guarded = scope === "machine" || scope === "application" || RESTRICTED.includes(name);
    assert.ok(guarded || HARMLESS.includes(name), `give ${name} the scope "machine", or restrict it`);
    assert.ok(!(guarded && HARMLESS.includes(name)), `${name} is guarded and in the list of the harmless`);
  });
}

test("what is restricted and what is called harmless are settings", () => {
  for (const name of [...RESTRICTED, ...HARMLESS]) {
    assert.ok(name in SETTINGS, name);
  }
});

test("targets are the user's own: trust in a workspace does not let it set them", () => {
  assert.equal(SETTINGS["tirx-lens.targets"]?.scope, "machine");
});
