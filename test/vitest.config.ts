import { configDefaults, defineConfig } from 'vitest/config';
import { shared } from './support/vitest-options.ts';

/** Everything that runs in this process, on SQLite. */
export default defineConfig({
  test: {
    ...shared,
    include: ['test/**/*.test.ts'],
    exclude: [...configDefaults.exclude, 'test/**/*.e2e.test.ts', 'test/conformance/**'],
    globalSetup: [
      'test/support/memory-folder.ts',
      'test/support/kysely-bundle.ts',
      'test/support/coverage.ts',
      'test/support/query-plans.ts',
    ],
    setupFiles: ['test/support/no-processes.ts', 'test/support/before-each-file.ts'],
    execArgv: [
      ...shared.execArgv,
      '--import',
      new URL('support/statements.ts', import.meta.url).href,
    ],
  },
});
