// Bundles the extension, or with `--tests` the tests that are written in TypeScript.
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { build } from "esbuild";

const common = { bundle: true, platform: "node", target: "node20", logLevel: "warning" };

if (process.argv.includes("--tests")) {
  await bundleTests("client/test", ".build/tests/client");
  await bundleTests("tests/e2e", ".build/tests/e2e");
} else {
  const { metafile } = await build({
    ...common,
    entryPoints: ["client/src/extension.ts"],
    outfile: "client/dist/extension.js",
    format: "cjs",
    external: ["vscode"],
    minify: true,
    metafile: true,
  });
  writeFileSync("client/dist/THIRD-PARTY-NOTICES.txt", notices(Object.keys(metafile.inputs)));
}

async function bundleTests(folder, outdir) {
  const entryPoints = readdirSync(folder, { recursive: true })
    .filter((name) => name.endsWith(".test.ts"))
    .map((name) => path.join(folder, name));
  rmSync(outdir, { recursive: true, force: true });
  const outExtension = { ".js": ".mjs" };
  await build({ ...common, entryPoints, outdir, outExtension, format: "esm", packages: "external" });
}

/** The licences of the packages that a bundle has taken files from. */
function notices(inputs) {
  const packages = new Set(
    inputs.map((input) => /^.*node_modules\/(@[^/]+\/)?[^/]+/.exec(input)?.[0]).filter(Boolean),
  );
  return [...packages].sort().map(notice).join("\n\n");
}

function notice(folder) {
  const { name, version, license } = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  const text = file === undefined ? "" : readFileSync(path.join(folder, file), "utf8");
  return `${name} ${version} (${license})\n\n${text}`.trim();
}
