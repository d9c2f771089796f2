import { execFileSync } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

// Makes the client package, by default in dist/, ready for `npm publish dist`. It depends on nothing: the server's
// dependencies are none of its users' business, so it has a package.json of its own.
const [folder = 'dist'] = process.argv.slice(2);
const compiler = fileURLToPath(import.meta.resolve('typescript/bin/tsc'));

rmSync(folder, { recursive: true, force: true });
execFileSync(process.execPath, [compiler, '-p', 'client', '--outDir', folder], {
  stdio: 'inherit',
});
for (const file of ['client/package.json', 'openapi.yaml', 'CHANGELOG.md', 'LICENSE']) {
  cpSync(file, join(folder, basename(file)));
}
