import { configDefaults, defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Needs PostgreSQL; see postgresql.config.ts.
    exclude: [...configDefaults.exclude, 'test/conformance/**'],
    globalSetup: ['test/support/coverage.ts', 'test/support/query-plans.ts'],
    setupFiles: ['test/support/setup.ts'],
    execArgv: ['--import', new URL('support/statements.ts', import.meta.url).href],
    testTimeout: 20_000,
    hookTimeout: 20_000,
  },
});
