// Bundles the extension, or with `--tests` the tests that are written in TypeScript.
import { readdirSync } from "node:fs";
import path from "node:path";
import { build } from "esbuild";

const common = { bundle: true, platform: "node", target: "node20", logLevel: "warning" };

const testsIn = (folder) =>
  readdirSync(folder, { recursive: true })
    .filter((name) => name.endsWith(".test.ts"))
    .map((name) => path.join(folder, name));

if (process.argv.includes("--tests")) {
  for (const [folder, out] of [
    ["client/test", ".build/tests/client"],
    ["tests/e2e", ".build/tests/e2e"],
  ]) {
    await build({
      ...common,
      entryPoints: testsIn(folder),
      outdir: out,
      outExtension: { ".js": ".mjs" },
      format: "esm",
      packages: "external",
      sourcemap: "inline",
    });
  }
} else {
  await build({
    ...common,
    entryPoints: ["client/src/extension.ts"],
    outfile: "client/dist/extension.js",
    format: "cjs",
    external: ["vscode"],
    minify: true,
    sourcemap: false,
    legalComments: "linked",
  });
}
