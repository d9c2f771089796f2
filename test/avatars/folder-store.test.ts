import {
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  unlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openAvatarFolder } from '../../server/avatars/folder-store.ts';
import {
  type AvatarStore,
  avatarUrls,
  DEFAULT_AVATAR_NAME,
  isAvatarName,
  newAvatarName,
} from '../../server/avatars/store.ts';
import { OperatorError } from '../../server/errors.ts';
import { MARKER_NAME } from '../../server/storage/database-marker.ts';

const DATABASE_ID = 'database';
const BASE_URL = 'https://cdn.example.org/avatars';

let parent: string;
let path: string;
let store: AvatarStore;

beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'avatars-'));
  path = join(parent, 'data', 'avatars');
  store = await openAvatarFolder(path, DATABASE_ID, BASE_URL);
});

afterEach(() => rm(parent, { recursive: true, force: true }));

describe('openAvatarFolder', () => {
  test('stores an avatar under a name of 128 random bits', async () => {
    const name = await put('avatar');
    expect(name).toMatch(/^[A-Za-z0-9_-]{22}\.webp$/);
    expect(await readFile(join(path, name), 'utf8')).toBe('avatar');
    expect((await stat(join(path, name))).mode & 0o777).toBe(0o644 & ~process.umask());
  });

  test('stores concurrent avatars under different names and leaves no other files', async () => {
    const names = await Promise.all(Array.from({ length: 50 }, () => put('x')));
    expect(new Set(names).size).toBe(50);
    expect((await readdir(path)).sort()).toEqual(
      [DEFAULT_AVATAR_NAME, MARKER_NAME, ...names].sort(),
    );
  });

  test('removes an avatar, and changes nothing the second time', async () => {
    const removed = await put('a');
    const kept = await put('b');
    await store.remove(removed);
    await store.remove(removed);
    expect(await listAvatars()).toEqual([kept]);
  });

  test.each([
    '',
    '.',
    '..',
    DEFAULT_AVATAR_NAME,
    '../secret.webp',
    '../../../AAAAAAAAAAAAAAAAAA.webp',
    'AAAAAAAAAAAAAAAAAAAAAA.webp.tmp',
    'AAAAAAAAAAAAAAAAAAAAAA.webp\n',
    'AAAAAAAAAAAAAAAAAAAAA\0.webp',
    'AAAAAAAAAA/AAAAAAAAAAA.webp',
  ])('rejects the invalid name %j for writing and removing', async (name) => {
    await writeFile(join(parent, 'data', 'secret.webp'), 'secret');
    const before = await readdir(parent, { recursive: true });
    await expect(store.remove(name)).rejects.toThrow(RangeError);
    await expect(store.put(name, Buffer.from('x'))).rejects.toThrow(RangeError);
    expect(await readdir(parent, { recursive: true })).toEqual(before);
    expect(await readFile(join(parent, 'data', 'secret.webp'), 'utf8')).toBe('secret');
  });

  test('contains the default avatar, a WebP of 512 x 512 pixels', async () => {
    const avatar = await readFile(join(path, DEFAULT_AVATAR_NAME));
    expect(await sharp(avatar).metadata()).toMatchObject({
      format: 'webp',
      width: 512,
      height: 512,
    });
  });

  test('writes the default avatar only if it is missing or different', async () => {
    const readInode = async () => (await stat(join(path, DEFAULT_AVATAR_NAME))).ino;
    const before = await readInode();
    await openAvatarFolder(path, DATABASE_ID, BASE_URL);
    expect(await readInode()).toBe(before);
    await writeFile(join(path, DEFAULT_AVATAR_NAME), 'another');
    await openAvatarFolder(path, DATABASE_ID, BASE_URL);
    expect(await readInode()).not.toBe(before);
  });

  test('keeps the avatars when it is opened again and concurrently', async () => {
    const name = await put('avatar');
    await Promise.all([
      openAvatarFolder(path, DATABASE_ID, BASE_URL),
      openAvatarFolder(path, DATABASE_ID, BASE_URL),
    ]);
    expect((await readdir(path)).sort()).toEqual([name, DEFAULT_AVATAR_NAME, MARKER_NAME].sort());
  });

  test('adopts a folder without a marker, and refuses one of another database', async () => {
    const name = await put('avatar');
    const marker = join(path, MARKER_NAME);
    expect(await readFile(marker, 'utf8')).toBe(`${DATABASE_ID}\n`);
    const openOther = () => openAvatarFolder(path, 'other', BASE_URL);
    await expect(openOther()).rejects.toThrow(OperatorError);
    await expect(openOther()).rejects.toThrow(
      `The avatar folder ${path} belongs to another database, and the services of both would delete each other's avatars. Check DATABASE_URL and DATA_DIR. If this database replaces the other one, stop the other service, delete the file ${marker} and start again.`,
    );
    await unlink(marker);
    await openOther();
    expect(await listAvatars()).toEqual([name]);
    await expect(openAvatarFolder(path, DATABASE_ID, BASE_URL)).rejects.toThrow(
      'belongs to another database',
    );
  });

  test('deletes nothing once the folder belongs to another database', async () => {
    const name = await put('avatar');
    const twoHoursAgo = new Date(Date.now() - 7_200_000);
    await utimes(join(path, name), twoHoursAgo, twoHoursAgo);
    const sweep = () => store.removeUnused(async () => new Set(), new AbortController().signal);
    await writeFile(join(path, MARKER_NAME), 'other\n');
    await expect(sweep()).rejects.toThrow('belongs to another database');
    expect(await listAvatars()).toEqual([name]);
    await writeFile(join(path, MARKER_NAME), `${DATABASE_ID}\n`);
    expect(await sweep()).toBe(1);
    expect(await listAvatars()).toEqual([]);
  });

  test('deletes temporary files left by a crash, but not those of concurrent writes', async () => {
    const old = `${'O'.repeat(22)}.webp.tmp`;
    const recent = `${'R'.repeat(22)}.webp.tmp`;
    for (const name of [old, recent, 'notes.tmp']) await writeFile(join(path, name), '');
    const anHourAgo = new Date(Date.now() - 3_600_000);
    await utimes(join(path, old), anHourAgo, anHourAgo);
    await store.removeUnused(async () => new Set(), new AbortController().signal);
    expect((await readdir(path)).sort()).toEqual(
      [recent, DEFAULT_AVATAR_NAME, MARKER_NAME, 'notes.tmp'].sort(),
    );
  });

  test('rejects on a failed write and leaves no partial file', async () => {
    const name = newAvatarName();
    await mkdir(join(path, name));
    await expect(store.put(name, Buffer.from('x'))).rejects.toThrow('EISDIR');
    expect((await readdir(path)).sort()).toEqual([name, DEFAULT_AVATAR_NAME, MARKER_NAME].sort());
  });
});

async function put(content: string): Promise<string> {
  const name = newAvatarName();
  await store.put(name, Buffer.from(content));
  return name;
}

async function listAvatars(): Promise<string[]> {
  return (await readdir(path)).filter(isAvatarName).sort();
}

describe('avatar URLs', () => {
  test('consist of the base URL and the name', () => {
    expect(store.url('AAAAAAAAAAAAAAAAAAAAAA.webp')).toBe(
      'https://cdn.example.org/avatars/AAAAAAAAAAAAAAAAAAAAAA.webp',
    );
  });

  test('refer to the default avatar for users without an avatar', () => {
    expect(avatarUrls('http://127.0.0.1:3000/avatars').url(null)).toBe(
      'http://127.0.0.1:3000/avatars/default.webp',
    );
  });
});
