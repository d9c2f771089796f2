import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { shared } from './support/vitest-options.ts';

/** What starts processes: programs, browsers, package managers and PostgreSQL. */
export default defineConfig({
  test: {
    ...shared,
    // Processes that start, stop and time out leave a processor idle more often than other tests.
    maxWorkers: availableParallelism() + 2,
    include: ['test/**/*.e2e.test.ts'],
    globalSetup: ['test/support/memory-folder.ts', 'test/support/kysely-bundle.ts'],
    setupFiles: ['test/support/kill-processes.ts', 'test/support/before-each-file.ts'],
  },
});
