import { createHash } from 'node:crypto';
import { copyFile, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import { startApp, type TestApp } from '../support/app.ts';
import { completeCommand, runCommand } from '../support/commands.ts';
import { damageTable } from '../support/damage.ts';
import { databaseFile } from '../support/integrity.ts';
import { createSpace } from '../support/spaces.ts';

let prepared: string;
let folder: string;
let DATA_DIR: string;
let backup: string;
let bobId: string;
const journal = () => readFile(join(DATA_DIR, 'erased-accounts.txt'), 'utf8');

function useFolder(path: string): void {
  folder = path;
  DATA_DIR = join(folder, 'data');
  backup = join(folder, 'backup', 'space-service.sqlite');
}

/** A backup with the accounts ada and bob. Then bob deletes his account, and eve registers. */
beforeAll(async () => {
  prepared = await mkdtemp(join(tmpdir(), 'restore-'));
  useFolder(prepared);
  await mkdir(join(folder, 'backup', 'avatars'), { recursive: true });
  await writeFile(join(folder, 'backup', 'avatars', 'an-avatar.webp'), 'bytes');
  await using app = await startApp({ DATA_DIR });
  await createSpace(await app.register('ada'), { title: 'Rye' });
  const bob = await app.register('bob');
  bobId = bob.userId;
  await createSpace(bob, { title: 'Spelt' });
  await completeCommand('backup', [backup], { DATA_DIR });
  expect((await api.deleteAccount({ client: bob.client })).response?.status).toBe(200);
  await app.register('eve');
});
afterAll(() => rm(prepared, { recursive: true }));

beforeEach(async () => {
  useFolder(await mkdtemp(join(tmpdir(), 'restore-')));
  await cp(prepared, folder, { recursive: true });
});
afterEach(async () => {
  vi.restoreAllMocks();
  await rm(folder, { recursive: true });
});

async function statusOfLogin(app: TestApp, name: string): Promise<number | undefined> {
  const body = { email: `${name}@example.com`, password: 'correct horse battery' };
  const { response } = await api.login({ client: app.client(), body });
  return response?.status;
}

test('restores a backup without the accounts that were deleted since then', async () => {
  const { code, stdout } = await runCommand('restore', [backup], { DATA_DIR });
  expect(code).toBe(0);
  expect(stdout).toContain('1 account deleted again');
  const files = await readdir(DATA_DIR);
  const replaced = files.find((name) => name.startsWith('replaced-')) as string;
  expect(stdout).toContain(join(DATA_DIR, replaced));
  expect(await readdir(join(DATA_DIR, replaced))).toContain('space-service.sqlite');
  expect(files.filter((name) => name.includes('restored'))).toEqual([]);
  expect(await readdir(join(DATA_DIR, 'avatars'))).toContain('an-avatar.webp');

  await using app = await startApp({ DATA_DIR });
  expect(await statusOfLogin(app, 'ada')).toBe(200);
  expect(await statusOfLogin(app, 'bob')).toBe(401);
  expect(await statusOfLogin(app, 'eve')).toBe(401);
  const { data } = await api.searchSpaces({ client: app.client(), query: { q: 'rye spelt' } });
  expect(data?.map(({ title }) => title)).toEqual(['Rye']);
});

test('the service keeps a hash of the ids of deleted accounts, and nothing else about them', async () => {
  await using _ = await startApp({ DATA_DIR });
  const hash = createHash('sha256').update(bobId).digest('hex');
  const line = new RegExp(`^\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z ${hash}\n$`);
  await expect.poll(() => journal().catch(() => '')).toMatch(line);
});

test('if the hashes cannot be stored, the service logs a warning and keeps them for later', async () => {
  await mkdir(join(DATA_DIR, 'erased-accounts.txt'));
  const warn = vi.spyOn(process, 'emitWarning').mockReturnValue();
  await using app = await startApp({ DATA_DIR });
  await expect.poll(() => warn.mock.calls.flat().join()).toMatch(/retry.*erased-accounts\.txt/);
  const pending = app.context.engine.db.selectFrom('pending_purges').select('user_id_hash');
  expect(await pending.execute()).toEqual([{ user_id_hash: expect.any(String) }]);
});

test('deletes accounts again from a database that another program has restored', async () => {
  const restore = () => runCommand('restore', ['--deletions-only'], { DATA_DIR });
  expect((await restore()).stderr).toContain('erased-accounts.txt does not exist');
  const hash = createHash('sha256').update(bobId).digest('hex');
  await writeFile(join(DATA_DIR, 'erased-accounts.txt'), `2026-11-22T00:00:00.000Z ${hash}\n`);
  await copyFile(backup, databaseFile(DATA_DIR));
  expect(await restore()).toMatchObject({ code: 0, stdout: '1 account deleted again.\n' });
  await using app = await startApp({ DATA_DIR });
  expect(await statusOfLogin(app, 'ada')).toBe(200);
  expect(await statusOfLogin(app, 'bob')).toBe(401);
});

test('does not replace the database of a running server', async () => {
  await using app = await startApp({ DATA_DIR });
  const { code, stderr } = await runCommand('restore', [backup], { DATA_DIR });
  expect(code).toBe(1);
  expect(stderr).toContain('Another server or an import uses');
  expect(await statusOfLogin(app, 'eve')).toBe(200);
});

test.each([
  ['damaged', () => damageTable(backup, 'messages'), 'is damaged: messages: '],
  ['empty', () => writeFile(backup, ''), 'is not a backup of this service'],
  ['not a database', () => writeFile(backup, 'x'.repeat(9_999)), 'is not a SQLite database'],
  ['missing', () => rm(backup), 'does not exist'],
  ['in use', () => writeFile(`${backup}-wal`, ''), 'Copy it with the command backup'],
])('keeps the database if the backup is %s', async (_, change, message) => {
  await change();
  const before = await readFile(databaseFile(DATA_DIR));
  const { code, stderr } = await runCommand('restore', [backup], { DATA_DIR });
  expect(code).toBe(1);
  expect(stderr).toContain(message);
  expect(await readFile(databaseFile(DATA_DIR))).toEqual(before);
  const files = await readdir(DATA_DIR);
  expect(files.filter((name) => /restored|replaced/.test(name))).toEqual([]);
});

test('restores into an empty folder, and a backup whose search index is damaged', async () => {
  damageTable(backup, 'tag_hits');
  const copy = join(folder, 'copy.sqlite');
  await copyFile(backup, copy);
  const settings = { DATA_DIR: join(folder, 'other') };
  const stdout = await completeCommand('restore', [copy], settings);
  expect(stdout).toContain('0 accounts deleted again');
  await using app = await startApp(settings);
  expect(await statusOfLogin(app, 'bob')).toBe(200);
  const { data } = await api.searchSpaces({ client: app.client(), query: { q: 'spelt' } });
  expect(data).toHaveLength(1);
});
