#!/usr/bin/env node
// First, because it exits with an explanation on versions of Node.js that cannot load the other modules.
import './process/node-version.js';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';

// Not static imports, because Node.js parses those first, and older versions fail at newer syntax.
const { commands, entryOf, isCommand } = await import('./commands/index.ts');
const { explainUnknownCommand, overview } = await import('./command-line/help.ts');

const args = process.argv.slice(2);
const [name = ''] = args;
if (isCommand(name)) {
  const { nodeFlags = [] } = entryOf(name);
  // `.js` in the npm package, `.ts` in the repository.
  const extension = extname(import.meta.filename);
  runNode([
    ...nodeFlags,
    '--import',
    import.meta.resolve('./process/preload.js'),
    // Last, so that they override the flags above.
    ...process.execArgv,
    fileURLToPath(new URL(`main${extension}`, import.meta.url)),
    ...args,
  ]);
} else if (name === '--help') {
  console.log(overview(commands));
} else if (name === '--version') {
  const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  console.log(JSON.parse(manifest).version);
} else {
  console.error(explainUnknownCommand(name));
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
