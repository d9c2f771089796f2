import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build as buildPage } from 'vite';
import { bundleModules } from './packages/bundle.ts';
import { type Package, packages } from './packages/index.ts';

const known = packages.map(({ name }) => name);
const USAGE = `Usage: npm run build -- [FOLDER] [PACKAGE…]

Builds the npm packages in a folder, by default dist/, each ready for npm publish dist/PACKAGE.

Packages: ${known.join(', ')}`;

const [folder = 'dist', ...names] = process.argv.slice(2);
const options = [folder, ...names].filter((each) => each.startsWith('-'));
if (options.length > 0) {
  const isHelp = options.every((each) => each === '--help' || each === '-h');
  if (isHelp) console.log(USAGE);
  else console.error(`Unknown option ${options[0]}.\n\n${USAGE}`);
  process.exit(isHelp ? 0 : 1);
}
if (known.includes(folder)) {
  console.error(`The first argument is the folder: npm run build -- dist ${folder}`);
  process.exit(1);
}
const compiler = fileURLToPath(
  new URL('bin/tsc', import.meta.resolve('@typescript/native/package.json')),
);

const unknown = names.filter((name) => !known.includes(name));
if (unknown.length > 0) {
  console.error(`Unknown: ${unknown.join(', ')}. The packages are ${known.join(', ')}.`);
  process.exit(1);
}
// The folders of packages are deleted below, so only an empty folder or an earlier build is accepted.
const others = existsSync(folder)
  ? readdirSync(folder).filter((name) => !known.includes(name))
  : [];
if (others.length > 0) {
  console.error(
    `${folder} contains other files. Choose an empty folder or an earlier build of the packages.`,
  );
  process.exit(1);
}
for (const each of packages) {
  if (names.length > 0 && !names.includes(each.name)) continue;
  const target = join(folder, each.name);
  await build(each, target);
  console.log(`Built ${target}`);
}

async function build(
  { readme, projects, files, webPages = [], json, bundles = [] }: Package,
  target: string,
): Promise<void> {
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  for (const project of projects) {
    execFileSync(process.execPath, [compiler, '-p', project, '--outDir', target], {
      stdio: 'inherit',
    });
  }
  for (const path of globSync('**/*.js', { cwd: target })) renameEntryModules(join(target, path));
  for (const path of globSync(files)) cpSync(path, join(target, path));
  for (const root of webPages) {
    const outDir = resolve(target, root, 'dist');
    await buildPage({ root, logLevel: 'warn', build: { outDir, emptyOutDir: true } });
  }
  cpSync(readme, join(target, 'README.md'));
  for (const [path, content] of Object.entries(json)) {
    mkdirSync(dirname(join(target, path)), { recursive: true });
    writeFileSync(join(target, path), `${JSON.stringify(content(), null, 2)}\n`);
  }
  // Last, because the bundler reads the manifest.
  if (bundles.length > 0) await bundleModules(bundles, target);
}

/** Renames the entry modules of threads and child processes from `.ts` to `.js`. The compiler renames only imports. */
function renameEntryModules(file: string): void {
  const code = readFileSync(file, 'utf8');
  const renamed = code.replaceAll(/(new URL\('\.[^']+)\.ts(', import\.meta\.url\))/g, '$1.js$2');
  if (renamed !== code) writeFileSync(file, renamed);
}
