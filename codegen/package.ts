import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

// Builds the npm package in a folder, by default dist/, ready for `npm publish dist`. The package has its own
// package.json without dependencies, because its users do not need the server's.
const [folder = 'dist'] = process.argv.slice(2);
const compiler = fileURLToPath(import.meta.resolve('typescript/bin/tsc'));

// The folder is deleted below, so only an empty folder or an earlier build is accepted.
const isReplaceable =
  !existsSync(folder) ||
  readdirSync(folder).length === 0 ||
  existsSync(join(folder, 'client', 'index.js'));
if (!isReplaceable) {
  console.error(
    `${folder} contains other files. Choose an empty folder or an earlier build of the package.`,
  );
  process.exit(1);
}
rmSync(folder, { recursive: true, force: true });
// The types of the handlers are compiled separately, because Fastify's types declare Node.js globals, which the client
// must not use. At run time, the export `./handlers` is the empty module of the generated types.
for (const config of ['client/tsconfig.json', 'client/tsconfig.handlers.json']) {
  execFileSync(process.execPath, [compiler, '-p', config, '--outDir', folder], {
    stdio: 'inherit',
  });
}

const contract = parse(readFileSync('openapi.yaml', 'utf8'));
writeFileSync(join(folder, 'openapi.json'), `${JSON.stringify(contract, null, 2)}\n`);
for (const file of [
  'client/package.json',
  'client/README.md',
  'openapi.yaml',
  'CHANGELOG.md',
  'LICENSE',
]) {
  cpSync(file, join(folder, basename(file)));
}
