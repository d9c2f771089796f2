import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';

const run = promisify(execFile);
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'space-packages-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** Runs `npm run build` with arguments. */
const build = (...args: string[]) => run(process.execPath, ['codegen/build-packages.ts', ...args]);

test('the build replaces an earlier build', async () => {
  const target = join(folder, 'built');
  await mkdir(join(target, 'space-service-tools'), { recursive: true });
  await writeFile(join(target, 'space-service-tools', 'old-file'), '');
  const { stdout } = await build(target, 'space-service-tools');
  expect(stdout).toBe(`Built ${join(target, 'space-service-tools')}\n`);
  expect(await readdir(target)).toEqual(['space-service-tools']);
  const files = await readdir(join(target, 'space-service-tools'));
  expect(files).toContain('README.md');
  expect(files).not.toContain('old-file');
});

test('the build keeps a folder with other files', async () => {
  await writeFile(join(folder, 'other-file'), 'kept');
  await expect(build(folder)).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining('contains other files'),
  });
  expect(await readdir(folder)).toContain('other-file');
});

test('the build rejects an unknown package', async () => {
  await expect(build(join(folder, 'unknown'), 'space-servce')).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^Unknown: space-servce\. The packages are space-service, /),
  });
});

test('the build rejects a package in place of the folder', async () => {
  await expect(build('space-service')).rejects.toMatchObject({
    code: 1,
    stderr: 'The first argument is the folder: npm run build -- dist space-service\n',
  });
});

test('the build rejects an unknown option and prints its usage with --help', async () => {
  await expect(build('--hlp')).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^Unknown option --hlp\.\n\nUsage: npm run build /),
  });
  expect((await build('--help')).stdout).toMatch(/^Usage: npm run build /);
});
