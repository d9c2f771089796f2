import { spawnSync } from 'node:child_process';

// Runs every part of `npm run check`, even after a failure, so that one run reports all problems.
const parts = ['contract', 'drift', 'types', 'style', 'architecture'];
const failed = parts.filter(
  (part) => spawnSync(`npm run check:${part}`, { shell: true, stdio: 'inherit' }).status !== 0,
);
if (failed.length > 0) {
  console.error(`\nFailed: ${failed.map((part) => `npm run check:${part}`).join(', ')}`);
  process.exitCode = 1;
}
