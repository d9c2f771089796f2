import { configDefaults, defineConfig } from 'vitest/config';
import { shared } from './support/vitest-options.ts';

/** The tests of the API and of import and export on PostgreSQL, and those that compare it with SQLite. */
export default defineConfig({
  test: {
    ...shared,
    include: ['test/{api,conformance,import-export}/**/*.test.ts'],
    // It needs no database.
    exclude: [...configDefaults.exclude, 'test/import-export/parse-record.test.ts'],
    globalSetup: [
      'test/support/memory-folder.ts',
      'test/support/kysely-bundle.ts',
      'test/support/postgresql-setup.ts',
    ],
    setupFiles: ['test/support/kill-processes.ts', 'test/support/before-each-file.ts'],
  },
});
