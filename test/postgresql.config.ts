import { defineConfig } from 'vitest/config';
import { PRELOAD_CACHE } from './support/preload-cache.ts';

/** The tests of the API, the search and the exchange format, on PostgreSQL, and those that compare it with SQLite. */
export default defineConfig({
  test: {
    include: [
      'test/api/**/*.test.ts',
      'test/conformance/**/*.test.ts',
      'test/exchange/**/*.test.ts',
      'test/search/{example-queries,matcher,tag-keys,text-search}.test.ts',
    ],
    globalSetup: ['test/support/postgresql-setup.ts'],
    setupFiles: ['test/support/setup.ts'],
    execArgv: PRELOAD_CACHE,
    // For slow and busy machines. Many tests start processes.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 40_000 } },
  },
});
