// The licences of what is not ours and is packaged all the same: packages of npm that a bundle has
// taken files from, and Python packages whose wheels were unpacked.
import { readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";

const LICENCE = /^(licen[cs]e|copying|notice|authors)/i;

/** The folders of the npm packages that files lie in, by the names that esbuild gives its inputs. */
export function npmFolders(inputs) {
  const folders = inputs.map((input) => /^.*node_modules\/(@[^/]+\/)?[^/]+/.exec(input)?.[0]);
  return [...new Set(folders.filter(Boolean))].sort();
}

/** What an npm package is, and the texts of its licence. */
export function npmPackage(folder) {
  const { name, version, license } = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8"));
  return made(`${name} ${version} (${license})`, folder, licencesIn(folder));
}

/** The Python packages of a folder of unpacked wheels. */
export function pythonPackages(libraries) {
  const metadata = readdirSync(libraries).filter((entry) => entry.endsWith(".dist-info"));
  return metadata.sort().map((entry) => {
    const folder = path.join(libraries, entry);
    const [head] = read(folder, "METADATA").split("\n\n");
    const value = (key) => new RegExp(`^${key}: (.*)$`, "m").exec(head)?.[1];
    const classifier = /^Classifier: License :: .*:: (.*) License$/m.exec(head)?.[1];
    const licence = value("License-Expression") ?? value("License") ?? classifier;
    return made(`${value("Name")} ${value("Version")} (${licence})`, folder, licencesIn(folder));
  });
}

/** One text for all packages; those with the same licence, word by word, stand together. */
export function notices(packages) {
  const byText = new Map();
  for (const { name, text } of packages) {
    byText.set(text, [...(byText.get(text) ?? []), name]);
  }
  return [...byText].map(([text, names]) => `${names.join("\n")}\n\n${text}`).join("\n\n");
}

function licencesIn(folder) {
  const inside = path.join(folder, "licenses");
  const places = [folder, ...(statSync(inside, { throwIfNoEntry: false })?.isDirectory() ? [inside] : [])];
  return places.flatMap((place) =>
    readdirSync(place, { withFileTypes: true })
      .filter((entry) => entry.isFile() && LICENCE.test(entry.name))
      .map((entry) => entry.name)
      .sort()
      .map((name) => read(place, name).trim()),
  );
}

/** Some wheels have line ends of Windows. */
function read(folder, name) {
  return readFileSync(path.join(folder, name), "utf8").replaceAll("\r\n", "\n");
}

function made(name, folder, texts) {
  if (texts.length === 0) {
    throw new Error(`${folder} has no licence to pass on`);
  }
  return { name, text: texts.join("\n\n") };
}
