import { defineConfig } from 'vitest/config';

/** The tests of the API, on PostgreSQL. */
export default defineConfig({
  test: {
    include: ['test/api/**/*.test.ts', 'test/conformance/**/*.test.ts'],
    globalSetup: ['test/support/postgresql-setup.ts'],
    setupFiles: ['test/support/setup.ts'],
    testTimeout: 20_000,
    hookTimeout: 20_000,
  },
});
