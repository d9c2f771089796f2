import { expect, test } from 'vitest';
import { startProcess } from './processes.ts';

test('Importing the helpers for PostgreSQL servers does not change the exit code of a process', async () => {
  const script = `import './test/support/postgresql.ts'; process.exitCode = 3;`;
  await using running = startProcess(process.execPath, ['--input-type=module', '-e', script]);
  expect(await running.exited).toBe(3);
});
