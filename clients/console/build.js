/** Builds the console into gateway/console: scripts in parts, one style sheet, the page, and the manifest with their checksums. */

import { createHash } from "node:crypto";
import { mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const target = process.argv[2] ?? join(here, "../../gateway/console");
const assets = join(target, "assets");
/** Of the compressed scripts that the first paint waits for. */
const MOST_BYTES = 170 * 1024;

const { devDependencies } = JSON.parse(await readFile(join(here, "package.json"), "utf8"));
await rm(assets, { recursive: true, force: true });
const { metafile } = await build({
  absWorkingDir: here,
  // Tabs share the connection of streams: the client starts the worker from beside its own script.
  entryPoints: { main: "src/main.ts", console: "styles/console.css", "shared-worker": "../js/src/shared-worker.ts" },
  outdir: assets,
  bundle: true,
  splitting: true,
  format: "esm",
  target: "es2022",
  minify: true,
  metafile: true,
  legalComments: "none",
  entryNames: "[name]",
  chunkNames: "part-[hash]",
  alias: { "@adalog/client": join(here, "../js/src/index.ts") },
  nodePaths: [join(here, "node_modules")],
  logLevel: "warning",
});

const outputs = new Map(Object.entries(metafile.outputs).map(([path, output]) => [relative(assets, join(here, path)), output]));
const first = firstParts("main.js");
const bytes = (await Promise.all(first.map((name) => readFile(join(assets, name))))).reduce((sum, text) => sum + gzipSync(text).length, 0);
if (bytes > MOST_BYTES) throw new Error(`the first paint waits for ${bytes} bytes of compressed script, and ${MOST_BYTES} is the most`);
console.log(`${Math.round(bytes / 1024)} KB of compressed script until the first paint`);

const preloads = first.map((name) => `    <link rel="modulepreload" href="console/assets/${name}">\n`).join("");
const page = await readFile(join(here, "index.html"), "utf8");
await writeFile(join(target, "index.html"), page.replace("    <!-- preloads -->\n", preloads));
await writeLicences();
await writeManifest();

/** A script, and those that it imports before it runs. */
function firstParts(name, found = new Set()) {
  if (found.has(name)) return [];
  found.add(name);
  const imported = outputs.get(name).imports.filter(({ kind }) => kind === "import-statement");
  return [name, ...imported.flatMap(({ path }) => firstParts(relative(assets, join(here, path)), found))];
}

/** The npm packages whose code is in the scripts. */
function bundled() {
  const folders = Object.keys(metafile.inputs).map((path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]);
  return [...new Set(folders.filter((name) => name !== undefined))].sort();
}

async function writeLicences() {
  const texts = await Promise.all(
    bundled().map(async (name) => {
      const folder = join(here, "node_modules", name);
      const file = (await readdir(folder)).find((each) => /^licen[cs]e/i.test(each));
      const { license } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
      return `${name} (${license})\n\n${file === undefined ? "" : await readFile(join(folder, file), "utf8")}`;
    }),
  );
  await writeFile(join(assets, "LICENSES.txt"), texts.join(`\n${"-".repeat(80)}\n\n`));
}

async function writeManifest() {
  const versions = await Promise.all(
    bundled().map(async (name) => {
      const { version } = JSON.parse(await readFile(join(here, "node_modules", name, "package.json"), "utf8"));
      return [name, devDependencies[name] ?? version];
    }),
  );
  await mkdir(target, { recursive: true });
  const names = ["icon.svg", "index.html", ...(await readdir(assets)).map((name) => `assets/${name}`)].sort();
  const files = await Promise.all(
    names.map(async (name) => [name, createHash("sha256").update(await readFile(join(target, name))).digest("hex")]),
  );
  const manifest = { packages: Object.fromEntries(versions), files: Object.fromEntries(files) };
  await writeFile(join(target, "manifest.json"), `${JSON.stringify(manifest, null, 2)}\n`);
}
