import { defineConfig } from 'vitest/config';

/** The tests of the API and the search, on PostgreSQL, and those that compare it with SQLite. */
export default defineConfig({
  test: {
    include: [
      'test/api/**/*.test.ts',
      'test/conformance/**/*.test.ts',
      'test/database/postgresql/**/*.test.ts',
      'test/search/{finding,matcher,tag-keys,text-search}.test.ts',
    ],
    globalSetup: ['test/support/postgresql-setup.ts'],
    setupFiles: ['test/support/setup.ts'],
    testTimeout: 20_000,
    hookTimeout: 20_000,
  },
});
