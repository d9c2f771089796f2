import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runVitest } from './run-vitest.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'coverage-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** Writes a Vitest configuration that includes a single test file. */
async function writeConfig(): Promise<string> {
  const config = join(folder, 'vitest.config.mjs');
  const include = ['test/codegen/breaking.test.ts'];
  const globalSetup = [resolve('test/support/coverage.ts')];
  await writeFile(
    config,
    `export default ${JSON.stringify({ root: resolve('.'), test: { include, globalSetup } })}`,
  );
  return config;
}

test('fails a run of all tests that does not reach every declared status', async () => {
  const { code, output } = await runVitest(await writeConfig());
  expect(output).toMatch(/Test Files .*1 passed/);
  expect(output).toContain('No test reaches: searchSpaces 200, ');
  expect(code).toBe(1);
});

test('does not check a run filtered by test name', async () => {
  const { code, output } = await runVitest(await writeConfig(), '-t', 'accepts no change');
  expect({ code, output }).toEqual({ code: 0, output: expect.not.stringContaining('Contract:') });
});

test.each([[['test/codegen/breaking.test.ts']], [['breaking']], [['breaking', '--update']]])(
  'does not check a run filtered by file: vitest %j',
  async (args) => {
    const { code, output } = await runVitest('test/vitest.config.ts', ...args);
    expect(output).toMatch(/Test Files .*1 passed/);
    expect({ code, output }).toEqual({ code: 0, output: expect.not.stringContaining('Contract:') });
  },
);
