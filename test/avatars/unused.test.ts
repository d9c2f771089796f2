import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { openAvatarFolder } from '../../server/avatars/folder-store.ts';
import { type AvatarStore, newAvatarName } from '../../server/avatars/store.ts';
import { removeUnusedAvatars } from '../../server/avatars/unused-avatars.ts';
import type { Engine } from '../../server/database/engine.ts';
import { openDatabase } from '../../server/database/open.ts';
import { changeAvatar } from '../../server/profile/avatar.ts';
import { MARKER_NAME } from '../../server/storage/database-marker.ts';
import { insertSession, insertUser } from '../database/users.ts';
import { startApp } from '../support/app.ts';
import { avatarFile } from '../support/avatar.ts';

const HOUR_MS = 3_600_000;

const image = new Uint8Array(await (await avatarFile()).arrayBuffer());

let dataDir: string;
let folder: string;
let engine: Engine;
let avatars: AvatarStore;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'unused-'));
  folder = join(dataDir, 'avatars');
  engine = await openDatabase({ dataDir }, { runsMaintenance: false });
  avatars = await openAvatarFolder(folder, 'database', 'https://cdn.example.org');
  await insertUser(engine.db, 'ada');
});
afterEach(async () => {
  await engine.close();
  await rm(dataDir, { recursive: true });
});

/** Writes a file that has not changed for some hours. */
async function writeOld(name: string, hours = 2): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, 'avatar');
  const time = new Date(Date.now() - hours * HOUR_MS);
  await utimes(file, time, time);
  return name;
}

const setAvatar = (avatar: string) => engine.db.updateTable('users').set({ avatar }).execute();

/** Opens a session of the only user, and returns the caller of its requests. */
async function signIn() {
  const { pk } = await engine.db.selectFrom('users').select('pk').executeTakeFirstOrThrow();
  return { userPk: pk, userId: 'ada', sessionPk: await insertSession(engine.db, pk), scopes: null };
}

const sweep = () => removeUnusedAvatars(engine, avatars, new AbortController().signal);

describe('removeUnusedAvatars', () => {
  test('deletes only old files that no user and no upload has', async () => {
    const [unused, used, claimed] = await Promise.all(
      Array.from({ length: 3 }, () => writeOld(newAvatarName())),
    );
    await setAvatar(used as string);
    const remove_after = new Date(Date.now() + HOUR_MS).toISOString();
    const claim = { avatar: claimed as string, remove_after };
    await engine.db.insertInto('discarded_avatars').values(claim).execute();
    const recent = await writeOld(newAvatarName(), 0.9);
    await writeOld('notes.webp');
    expect(await sweep()).toBe(1);
    expect((await readdir(folder)).sort()).toEqual(
      [used, claimed, recent, 'default.webp', MARKER_NAME, 'notes.webp'].sort(),
    );
    expect(existsSync(join(folder, unused as string))).toBe(false);
  });

  test('deletes temporary files that interrupted uploads have left, but not those of running ones', async () => {
    await writeOld(`${newAvatarName()}.tmp`, 0.2);
    const recent = await writeOld(`${newAvatarName()}.tmp`, 0.1);
    await writeOld('notes.tmp');
    await sweep();
    expect((await readdir(folder)).sort()).toEqual(
      [recent, 'default.webp', MARKER_NAME, 'notes.tmp'].sort(),
    );
  });

  test('keeps all avatars of a database without users, which may be a new one by mistake', async () => {
    await engine.db.deleteFrom('users').execute();
    const name = await writeOld(newAvatarName());
    await sweep();
    expect(existsSync(join(folder, name))).toBe(true);
  });

  test('deletes the unused avatars of all batches, and stops when it is aborted', async () => {
    const used = await writeOld(newAvatarName());
    await setAvatar(used);
    for (let i = 0; i < 1_500; i += 1) await writeOld(newAvatarName());
    const stopping = new AbortController();
    stopping.abort();
    await removeUnusedAvatars(engine, avatars, stopping.signal);
    expect((await readdir(folder)).length).toBeGreaterThan(900);
    await sweep();
    expect((await readdir(folder)).sort()).toEqual([used, 'default.webp', MARKER_NAME].sort());
  });

  test('never deletes an avatar that is uploaded at the same time', async () => {
    // The clock of this file system seems to be hours behind, so that every file looks old.
    const lateStore: AvatarStore = {
      ...avatars,
      async put(name, bytes) {
        await avatars.put(name, bytes);
        const time = new Date(Date.now() - 2 * HOUR_MS);
        await utimes(join(folder, name), time, time);
        await sweep();
      },
    };
    const caller = await signIn();
    const sweeping = (async () => {
      for (let i = 0; i < 30; i += 1) await sweep();
    })();
    for (let i = 0; i < 5; i += 1) {
      const url = await changeAvatar({ engine, avatars: lateStore }, caller, image);
      expect(existsSync(join(folder, url.split('/').at(-1) as string))).toBe(true);
    }
    await sweeping;
    const { avatar } = await engine.db
      .selectFrom('users')
      .select('avatar')
      .executeTakeFirstOrThrow();
    expect(existsSync(join(folder, avatar as string))).toBe(true);
  });
});

// As after the machine was suspended for hours.
test.each<[string, (name: string) => Promise<unknown>]>([
  [
    'has removed its file',
    async (name) => {
      await avatars.remove(name);
      await engine.db.deleteFrom('discarded_avatars').execute();
    },
  ],
  [
    'may be removing its file',
    () =>
      engine.db
        .updateTable('discarded_avatars')
        .set({ remove_after: new Date(Date.now() - HOUR_MS).toISOString() })
        .execute(),
  ],
])('An upload whose claim has expired fails, because housekeeping %s', async (_, expire) => {
  const caller = await signIn();
  const slowStore: AvatarStore = {
    ...avatars,
    async put(name, bytes) {
      await avatars.put(name, bytes);
      await expire(name);
    },
  };
  await expect(changeAvatar({ engine, avatars: slowStore }, caller, image)).rejects.toMatchObject({
    code: 'unavailable',
  });
  const row = await engine.db.selectFrom('users').select('avatar').executeTakeFirstOrThrow();
  expect(row.avatar).toBeNull();
});

test('Housekeeping of a running service deletes files without a user, which are no longer served', async () => {
  await using app = await startApp();
  await app.register();
  folder = join(app.context.config.dataDir, 'avatars');
  const name = await writeOld(newAvatarName());
  const leftover = await writeOld(`${newAvatarName()}.tmp`);
  const info = vi.spyOn(app.context.log, 'info');
  expect((await fetch(`${app.url}/avatars/${name}`)).status).toBe(200);
  await app.context.housekeeping.run();
  expect((await fetch(`${app.url}/avatars/${name}`)).status).toBe(404);
  expect(await readdir(folder)).not.toContain(leftover);
  expect(info).toHaveBeenCalledWith({ count: 1 }, 'deleted avatars that no account has');
});
