import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startProcess } from './processes.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'coverage-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** Writes a Vitest configuration that includes two test files. */
async function writeConfig(): Promise<string> {
  const config = join(folder, 'vitest.config.mjs');
  const include = ['test/codegen/breaking.test.ts', 'test/codegen/problem-codes.test.ts'];
  const globalSetup = [resolve('test/support/coverage.ts')];
  await writeFile(
    config,
    `export default ${JSON.stringify({ root: resolve('.'), test: { include, globalSetup } })}`,
  );
  return config;
}

test('fails a run of all tests that does not reach every declared status', async () => {
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', '-c', await writeConfig()];
  await using running = startProcess(process.execPath, vitest, { NO_COLOR: '1' });
  const { code } = await running.result;
  expect(running.output()).toMatch(/Test Files .*2 passed/);
  expect(running.output()).toContain('No test reaches: searchSpaces 200, ');
  expect(code).toBe(1);
});
