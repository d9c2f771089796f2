import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

// Runs every part of `npm run check`, even after a failure, so that one run reports all problems. The longest first.
const waiting = ['types', 'contract', 'architecture', 'drift', 'style'];
const failed: string[] = [];

/** Runs parts one after another, and prints the output of each at its end. */
async function runParts(): Promise<void> {
  for (let part = waiting.shift(); part !== undefined; part = waiting.shift()) {
    const script = `npm run check:${part}`;
    const child = spawn(`${script} 2>&1`, {
      shell: true,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'close')]);
    process.stdout.write(output);
    if (code !== 0) failed.push(script);
  }
}

// Two at a time, because most of them use one processor.
await Promise.all([runParts(), runParts()]);
if (failed.length > 0) {
  console.error(`\nFailed: ${failed.join(', ')}`);
  process.exitCode = 1;
}
