import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Engine } from '../../server/database/engine.ts';
import { startApp } from './app.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'app-'));
  vi.stubEnv('TMPDIR', folder);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

test('startApp leaves no files behind if it rejects its settings', async () => {
  await expect(startApp({ WORKERS: '0' })).rejects.toThrow('WORKERS=0');
  expect(await readdir(folder)).toEqual([]);
});

test('startApp closes the database and leaves no files behind if it fails later', async () => {
  let opened: Engine | undefined;
  const failing = startApp(
    {},
    {
      engine(real) {
        opened = real;
        throw new Error('failed on purpose');
      },
    },
  );
  await expect(failing).rejects.toThrow('failed on purpose');
  await expect(opened?.db.selectFrom('users').select('pk').execute()).rejects.toThrow();
  expect(await readdir(folder)).toEqual([]);
});
