import { availableParallelism } from 'node:os';
import { configDefaults, defineConfig } from 'vitest/config';
import { PRELOAD_CACHE } from './support/preload-cache.ts';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Needs PostgreSQL; see postgresql.config.ts.
    exclude: [...configDefaults.exclude, 'test/conformance/**'],
    globalSetup: ['test/support/coverage.ts', 'test/support/query-plans.ts'],
    setupFiles: ['test/support/setup.ts'],
    execArgv: [
      ...PRELOAD_CACHE,
      '--import',
      new URL('support/statements.ts', import.meta.url).href,
    ],
    // Tests often wait for processes and timers, so two files run at once even on two processors.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    // For slow and busy machines. Many tests start processes.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 40_000 } },
  },
});
