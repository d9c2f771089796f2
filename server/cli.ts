#!/usr/bin/env node
// First, because it exits with an explanation on versions of Node.js that cannot load the other modules.
import './process/node-version.js';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';

// Not static imports, because Node.js parses those first, and older versions fail at newer syntax.
const { command, isCommand } = await import('./command-line/commands.ts');
const { overview } = await import('./command-line/help.ts');

const [name = '', ...args] = process.argv.slice(2);
if (isCommand(name)) {
  const { module, nodeFlags = [] } = command(name);
  // `.js` in the npm package, `.ts` in the repository.
  const extension = extname(import.meta.filename);
  runNode([
    ...nodeFlags,
    '--import',
    import.meta.resolve('./process/preload.js'),
    // Last, so that they override the flags above.
    ...process.execArgv,
    fileURLToPath(new URL(`${module}${extension}`, import.meta.url)),
    ...args,
  ]);
} else if (name === '--help') {
  console.log(overview());
} else if (name === '--version') {
  const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  console.log(JSON.parse(manifest).version);
} else {
  const problem = name === '' ? 'No command' : `Unknown command ${JSON.stringify(name)}`;
  console.error(`${problem}. Run "space-service --help" to list the commands.`);
  process.exitCode = 1;
}

/**
 * Runs Node.js in place of this process, because flags of V8 must be set when a process starts. Signals then reach the
 * server directly.
 */
function runNode(nodeArguments: string[]): void {
  const node = process.execPath;
  if (process.platform !== 'win32') process.execve?.(node, [node, ...nodeArguments]);
  // Windows cannot replace a process.
  process.exitCode = spawnSync(node, nodeArguments, { stdio: 'inherit' }).status ?? 1;
}
