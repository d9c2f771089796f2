import { existsSync } from 'node:fs';
import { copyFile, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import { makeDueBackup } from '../../server/backups/backup.ts';
import { readConfig } from '../../server/config.ts';
import { startApp, type TestApp } from '../support/app.ts';
import { uploadAvatar } from '../support/avatar.ts';
import { completeCommand, runCommand } from '../support/commands.ts';
import { damageTable } from '../support/damage.ts';
import { databaseFile } from '../support/integrity.ts';

let folder: string;
let settings: Record<string, string>;
let app: TestApp;
const backUp = (time: string) => makeDueBackup(readConfig(settings), new Date(time));
const stored = async (path = '') =>
  (await readdir(join(folder, 'backups', path), { withFileTypes: true }))
    .filter((entry) => entry.isFile() && entry.name !== 'space-service-database.txt')
    .map(({ name }) => name)
    .sort();

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'backups-'));
  settings = {
    DATA_DIR: join(folder, 'data'),
    BACKUPS: 'daily:2,monthly:2',
    BACKUPS_FOLDER: join(folder, 'backups'),
  };
  app = await startApp(settings);
});
afterEach(async () => {
  await app[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

test('makes one backup a day, and keeps those of the rules with their avatars', async () => {
  const ada = await app.register('ada');
  const first = await uploadAvatar(ada);
  expect(await backUp('2026-09-29T10:00Z')).toEqual({
    name: '2026-09-29T10-00-00Z',
    newAvatars: 1,
    deleted: [],
  });
  expect(await backUp('2026-09-29T23:59Z')).toBeUndefined();
  expect(await backUp('2026-09-30T00:00Z')).toMatchObject({ newAvatars: 0 });
  const second = await uploadAvatar(ada);
  expect(await backUp('2026-10-01T00:00Z')).toMatchObject({
    newAvatars: 1,
    deleted: ['2026-09-29T10-00-00Z'],
  });
  const avatars = [first, second].map((url) => url.slice(url.lastIndexOf('/') + 1)).sort();
  expect(await stored('avatars')).toEqual(avatars);
  await backUp('2026-10-02T00:00Z');
  await backUp('2026-11-01T00:00Z');
  expect(await stored()).toEqual([
    '2026-10-02T00-00-00Z.avatars',
    '2026-10-02T00-00-00Z.db',
    '2026-11-01T00-00-00Z.avatars',
    '2026-11-01T00-00-00Z.db',
  ]);
  expect(await stored('avatars')).toEqual([second.slice(second.lastIndexOf('/') + 1)]);
});

test('a backup that fails deletes nothing, and what it leaves is deleted by the next one', async () => {
  await app.register('ada');
  await backUp('2026-09-01T00:00Z');
  await backUp('2026-09-02T00:00Z');
  const before = await stored();
  await app[Symbol.asyncDispose]();
  const sound = join(folder, 'sound.sqlite');
  await copyFile(databaseFile(settings.DATA_DIR as string), sound);
  damageTable(databaseFile(settings.DATA_DIR as string), 'users');
  await expect(backUp('2026-09-03T00:00Z')).rejects.toThrow(/malformed/);
  expect((await stored()).filter((name) => name.endsWith('.db'))).toEqual(
    before.filter((name) => name.endsWith('.db')),
  );
  await copyFile(sound, databaseFile(settings.DATA_DIR as string));
  await writeFile(join(folder, 'backups', '2026-09-03T00-00-00Z.db.part'), 'incomplete');
  await writeFile(join(folder, 'backups', '2026-09-03T00-00-00Z.avatars'), '');
  await backUp('2026-09-04T00:00Z');
  expect(await stored()).toEqual([
    '2026-09-02T00-00-00Z.avatars',
    '2026-09-02T00-00-00Z.db',
    '2026-09-04T00-00-00Z.avatars',
    '2026-09-04T00-00-00Z.db',
  ]);
});

test('a backup is restored by its name on another machine, without accounts that were deleted later', async () => {
  const ada = await app.register('ada');
  const url = await uploadAvatar(ada);
  const bob = await app.register('bob');
  await uploadAvatar(bob);
  await backUp('2026-09-01T00:00Z');
  await api.deleteAccount({ client: bob.client });
  const journal = join(settings.DATA_DIR as string, 'erased-accounts.txt');
  await expect.poll(() => existsSync(journal)).toBe(true);
  await backUp('2026-09-02T00:00Z');

  const elsewhere = { ...settings, DATA_DIR: join(folder, 'elsewhere') };
  expect(await completeCommand('restore', [], elsewhere)).toBe(
    '2026-09-02T00-00-00Z\n2026-09-01T00-00-00Z\n',
  );
  const output = await completeCommand('restore', ['2026-09-01T00-00-00Z'], elsewhere);
  expect(output).toContain('1 account deleted again');
  expect(output).toContain('1 avatar copied');
  await using restored = await startApp(elsewhere);
  const statusOfLogin = async (name: string) => {
    const body = { email: `${name}@example.com`, password: 'correct horse battery' };
    return (await api.login({ client: restored.client(), body })).response?.status;
  };
  expect(await statusOfLogin('ada')).toBe(200);
  expect(await statusOfLogin('bob')).toBe(401);
  const avatar = await fetch(restored.url + new URL(url).pathname);
  expect(avatar.status).toBe(200);

  const unknown = await runCommand('restore', ['2026-09-09T00-00-00Z'], elsewhere);
  expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('There is no backup') });
});

test('two databases do not share a folder of backups', async () => {
  await backUp('2026-09-01T00:00Z');
  await using other = await startApp();
  const config = { ...readConfig(settings), dataDir: other.context.config.dataDir };
  await expect(makeDueBackup(config)).rejects.toThrow("delete each other's backups");
});
