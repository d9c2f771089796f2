import { ChildProcess } from 'node:child_process';

interface Spawning {
  spawn(options: { file: string; args: string[] }): void;
}

// Tests that start programs are slow, so they do not belong to `npm test`.
const prototype = ChildProcess.prototype as unknown as Spawning;
const { spawn } = prototype;
// Vitest runs this module before each file, in the same process.
if (spawn.name !== 'spawnAllowed') {
  prototype.spawn = function spawnAllowed(options) {
    const { file, args } = options;
    // `cp` copies data folders: see `data-files.ts`. The service itself starts the process that overwrites deleted
    // content.
    const isAllowed = file === 'cp' || args.some((each) => each.endsWith('/scrub-entry.ts'));
    if (!isAllowed) {
      throw new Error(`This test starts ${args.join(' ')}. Give its file the suffix .e2e.test.ts.`);
    }
    return spawn.call(this, options);
  };
}
