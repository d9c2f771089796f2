import { availableParallelism } from 'node:os';
import { PRELOAD_CACHE } from './preload-cache.ts';

/** The options of all kinds of test runs. */
export const shared = {
  // Files share a process and its modules, because loading the modules takes longer than most files.
  isolate: false,
  execArgv: [...PRELOAD_CACHE, '--import', new URL('kysely-bundle.ts', import.meta.url).href],
  // One more than processors, because tests often wait for timers and processes.
  maxWorkers: availableParallelism() + 1,
  // For slow and busy machines.
  testTimeout: 120_000,
  hookTimeout: 120_000,
  expect: { poll: { timeout: 40_000 } },
};
