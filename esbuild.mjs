// Bundles the extension and the timeline's view, or with `--tests` the tests that are written in
// TypeScript, or with `--view FOLDER` the view alone.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { build } from "esbuild";

const VIEW = "client/src/timeline/view";
const PAGE = "server/tirx_lens/report/page";
const common = { bundle: true, platform: "node", target: "node20", logLevel: "warning" };

if (process.argv.includes("--tests")) {
  await bundleTests("client/test", ".build/tests/client");
  await bundleTests("tests/e2e", ".build/tests/e2e");
} else if (process.argv.includes("--view")) {
  await bundleView(process.argv.at(-1));
} else {
  // The command line's page has the same view as the editor, and Python finds it in its package.
  const view = await bundleView(PAGE);
  const { metafile } = await build({
    ...common,
    entryPoints: ["client/src/extension.ts"],
    outfile: "client/dist/extension.js",
    format: "cjs",
    external: ["vscode"],
    minify: true,
    metafile: true,
  });
  for (const [name, text] of view) {
    write("client/dist", name, text);
  }
  const inputs = [...Object.keys(metafile.inputs), ...view.inputs];
  writeFileSync("client/dist/THIRD-PARTY-NOTICES.txt", notices(inputs));
}

/** Write the script and the style of the timeline's view; return them by name, with their inputs. */
async function bundleView(folder) {
  const options = {
    ...common,
    platform: "browser",
    target: "es2022",
    entryPoints: [`${VIEW}/main.ts`],
    format: "iife",
    charset: "utf8",
    minify: true,
    write: false,
    metafile: true,
    tsconfig: `${VIEW}/tsconfig.json`,
  };
  const { outputFiles, metafile } = await build(options);
  const [{ inputs: taken }] = Object.values(metafile.outputs);
  const inputs = Object.keys(taken).filter((name) => taken[name].bytesInOutput > 0);
  const banner = `/*! TIRx Lens, Apache-2.0; and libraries:\n\n${notices(inputs)}\n*/\n`;
  const made = new Map([
    ["timeline.js", banner + outputFiles[0].text],
    ["timeline.css", readFileSync(`${VIEW}/timeline.css`, "utf8")],
  ]);
  for (const [name, text] of made) {
    write(folder, name, text);
  }
  made.inputs = inputs;
  return made;
}

/** Write a file, unless it is as it should be: `make` goes by when files were written. */
function write(folder, name, text) {
  const file = path.join(folder, name);
  mkdirSync(folder, { recursive: true });
  try {
    if (readFileSync(file, "utf8") === text) {
      return;
    }
  } catch {
    // There is none yet.
  }
  writeFileSync(file, text);
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
  const byText = new Map();
  for (const { name, text } of [...packages].sort().map(notice)) {
    byText.set(text, [...(byText.get(text) ?? []), name]);
  }
  return [...byText].map(([text, names]) => `${names.join("\n")}\n\n${text}`.trim()).join("\n\n");
}

function notice(folder) {
  const { name, version, license } = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  const text = file === undefined ? "" : readFileSync(path.join(folder, file), "utf8");
  return { name: `${name} ${version} (${license})`, text: text.trim() };
}
