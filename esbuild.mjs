// Bundles the extension and the timeline's view, or with `--tests` the tests that are written in
// TypeScript, or with `--view FOLDER` the view alone. `--notices LIBRARIES FILE` writes the licences
// of all that the extension carries, the unpacked wheels of LIBRARIES too.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { build } from "esbuild";
import { notices, npmFolders, npmPackage, pythonPackages } from "./dev/notices.mjs";

const VIEW = "client/src/timeline/view";
const ICU = "dev/licences/icu.txt";
const PAGE = "server/tirx_lens/report/page";
const common = { bundle: true, platform: "node", target: "node20", logLevel: "warning" };

if (process.argv.includes("--tests")) {
  await bundleTests("client/test", ".build/tests/client");
  await bundleTests("tests/e2e", ".build/tests/e2e");
} else if (process.argv.includes("--view")) {
  await bundleView(process.argv.at(-1));
} else if (process.argv.includes("--notices")) {
  const [libraries, file] = process.argv.slice(-2);
  writeFileSync(file, await allNotices(libraries));
} else {
  // The command line's page has the same view as the editor, and Python finds it in its package.
  const view = await bundleView(PAGE);
  await bundleExtension(true);
  for (const [name, text] of view) {
    write("client/dist", name, text);
  }
}

/** Bundle the extension; return the names of the files that are in it. */
async function bundleExtension(toDisk) {
  const { metafile } = await build({
    ...common,
    entryPoints: ["client/src/extension.ts"],
    outfile: "client/dist/extension.js",
    format: "cjs",
    external: ["vscode"],
    minify: true,
    metafile: true,
    write: toDisk,
  });
  return taken(metafile);
}

/** The inputs that an output has bytes of. */
function taken({ outputs }) {
  return Object.values(outputs).flatMap(({ inputs }) =>
    Object.keys(inputs).filter((name) => inputs[name].bytesInOutput > 0),
  );
}

async function allNotices(libraries) {
  const view = await bundleView(undefined);
  const folders = npmFolders([...(await bundleExtension(false)), ...view.inputs]);
  // tree-sitter compiles these headers in, and its wheel does not pass their licence on.
  const icu = { name: "ICU, its headers for UTF in tree-sitter", text: readFileSync(ICU, "utf8").trim() };
  const packages = [...folders.map(npmPackage), ...pythonPackages(libraries), icu];
  const head =
    "The extension of TIRx Lens carries the software listed here, under the licences that follow its name.\n" +
    "`make notices` writes this file.\n\n";
  return `${head}${notices(packages)}\n`;
}

/**
 * Make the script and the style of the timeline's view, and write them where a folder is given;
 * return them by name, with their inputs.
 */
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
  const inputs = taken(metafile);
  const licences = notices(npmFolders(inputs).map(npmPackage));
  const banner = `/*! TIRx Lens, Apache-2.0; and libraries:\n\n${licences}\n*/\n`;
  const made = new Map([
    ["timeline.js", banner + outputFiles[0].text],
    ["timeline.css", readFileSync(`${VIEW}/timeline.css`, "utf8")],
  ]);
  if (folder !== undefined) {
    for (const [name, text] of made) {
      write(folder, name, text);
    }
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
