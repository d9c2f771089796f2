import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, readdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

// Makes the client package, by default in dist/, ready for `npm publish dist`. It depends on nothing: the server's
// dependencies are none of its users' business, so it has a package.json of its own.
const [folder = 'dist'] = process.argv.slice(2);
const compiler = fileURLToPath(import.meta.resolve('typescript/bin/tsc'));

// What is there is replaced, so it has to be an earlier package, or nothing.
const isReplaceable =
  !existsSync(folder) ||
  readdirSync(folder).length === 0 ||
  existsSync(join(folder, 'client', 'index.js'));
if (!isReplaceable) {
  console.error(
    `${folder} has something else in it. Name a folder that is empty, or an earlier package.`,
  );
  process.exit(1);
}
rmSync(folder, { recursive: true, force: true });
execFileSync(process.execPath, [compiler, '-p', 'client', '--outDir', folder], {
  stdio: 'inherit',
});
for (const file of [
  'client/package.json',
  'client/README.md',
  'openapi.yaml',
  'CHANGELOG.md',
  'LICENSE',
]) {
  cpSync(file, join(folder, basename(file)));
}
