// Builds the extension into one file for the editor and two for the page of the chat, and collects the licences of the packages
// that are in them. `npm run build` runs it; the result is kept in the repository, because the program `adjutant` carries it.
// Never fetches anything, and puts no path of this machine and no time into a file.
import { readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';

const OUT = 'dist';
// The settings of the types are not for this program, which never reads them.
const COMMON = { tsconfigRaw: { compilerOptions: { strict: true } }, bundle: true, minify: true, metafile: true, logLevel: 'warning' };
// The name of a package comes after the last of these in a path.
const PACKAGES = 'node_modules/';

// Returns the folder of the package that a source belongs to; nothing for a source of Adjutant.
function packageOf(source) {
  const at = source.lastIndexOf(PACKAGES);
  if (at < 0) return undefined;
  const name = source.slice(at + PACKAGES.length).split('/');
  return source.slice(0, at + PACKAGES.length) + name.slice(0, name[0].startsWith('@') ? 2 : 1).join('/');
}

// Returns the part of the page of licences about one package.
async function licenceOf(folder) {
  const { name, version, license } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  const files = (await readdir(folder)).filter((file) => /^licen[cs]e/i.test(file)).sort();
  if (files.length === 0) throw new Error(`${name} has no file with its licence; it cannot be shipped`);
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')));
  const lines = texts.join('\n').replaceAll('\r', '').split('\n').map((line) => line.trimEnd());
  return { key: `${name} ${version}`, text: `${name} ${version} (${license})\n\n${lines.join('\n').trim()}\n` };
}

await rm(OUT, { recursive: true, force: true });
const built = await Promise.all([
  build({ ...COMMON, entryPoints: ['src/extension.ts'], platform: 'node', target: 'node20', external: ['vscode'], outfile: `${OUT}/extension.js` }),
  build({ ...COMMON, entryPoints: ['page/chat.ts', 'page/chat.css'], platform: 'browser', target: 'chrome120', outdir: OUT }),
]);
const sources = built.flatMap(({ metafile }) => Object.keys(metafile.inputs));
const folders = [...new Set(sources.map(packageOf).filter(Boolean))];
const licences = (await Promise.all(folders.map(licenceOf))).sort((a, b) => (a.key < b.key ? -1 : 1));
const line = `\n${'-'.repeat(80)}\n\n`;
const head = 'The extension contains code of these packages. Each keeps its own licence.\n';
await writeFile(`${OUT}/licences.txt`, [head, ...licences.map(({ text }) => text)].join(line));
