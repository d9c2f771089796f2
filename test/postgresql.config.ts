import { defineConfig } from 'vitest/config';

/** The tests of the API and of import and export, on PostgreSQL. */
export default defineConfig({
  test: {
    include: ['test/api/**/*.test.ts', 'test/exchange/**/*.test.ts'],
    globalSetup: ['test/support/postgresql-setup.ts'],
    setupFiles: ['test/support/setup.ts'],
    testTimeout: 20_000,
    hookTimeout: 20_000,
  },
});
