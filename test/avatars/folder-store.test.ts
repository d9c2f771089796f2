import { mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
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

const BASE_URL = 'https://cdn.example.org/avatars';

let parent: string;
let path: string;
let store: AvatarStore;

beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'avatars-'));
  path = join(parent, 'data', 'avatars');
  store = await openAvatarFolder(path, BASE_URL);
});

afterEach(() => rm(parent, { recursive: true, force: true }));

describe('a folder of avatars', () => {
  test('keeps what is put into it under a name of 128 random bits', async () => {
    const name = await put('avatar');
    expect(name).toMatch(/^[A-Za-z0-9_-]{22}\.webp$/);
    expect(await readFile(join(path, name), 'utf8')).toBe('avatar');
    expect((await stat(join(path, name))).mode & 0o777).toBe(0o644 & ~process.umask());
  });

  test('never gives a name twice and leaves nothing else behind', async () => {
    const names = await Promise.all(Array.from({ length: 50 }, () => put('x')));
    expect(new Set(names).size).toBe(50);
    expect((await readdir(path)).sort()).toEqual([DEFAULT_AVATAR_NAME, ...names].sort());
  });

  test('removes an avatar, and does nothing the second time', async () => {
    const [gone, kept] = [await put('a'), await put('b')];
    await store.remove(gone);
    await store.remove(gone);
    expect(await avatars()).toEqual([kept]);
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
  ])('neither writes nor removes %j, which is no name of an avatar', async (name) => {
    await writeFile(join(parent, 'data', 'secret.webp'), 'secret');
    const before = await readdir(parent, { recursive: true });
    await expect(store.remove(name)).rejects.toThrow(RangeError);
    await expect(store.put(name, Buffer.from('x'))).rejects.toThrow(RangeError);
    expect(await readdir(parent, { recursive: true })).toEqual(before);
    expect(await readFile(join(parent, 'data', 'secret.webp'), 'utf8')).toBe('secret');
  });

  test('holds the default avatar, 512 x 512 pixels of WebP', async () => {
    const avatar = await readFile(join(path, DEFAULT_AVATAR_NAME));
    expect(await sharp(avatar).metadata()).toMatchObject({
      format: 'webp',
      width: 512,
      height: 512,
    });
  });

  test('writes the default avatar only where it is not there yet', async () => {
    const inode = async () => (await stat(join(path, DEFAULT_AVATAR_NAME))).ino;
    const before = await inode();
    await openAvatarFolder(path, BASE_URL);
    expect(await inode()).toBe(before);
    await writeFile(join(path, DEFAULT_AVATAR_NAME), 'another');
    await openAvatarFolder(path, BASE_URL);
    expect(await inode()).not.toBe(before);
  });

  test('keeps its avatars when opened again, by several processes at once', async () => {
    const name = await put('avatar');
    await Promise.all([openAvatarFolder(path, BASE_URL), openAvatarFolder(path, BASE_URL)]);
    expect((await readdir(path)).sort()).toEqual([name, DEFAULT_AVATAR_NAME].sort());
  });

  test('rids itself of what a crash left behind, but not of what is being written', async () => {
    const [old, fresh] = ['O', 'F'].map((letter) => `${letter.repeat(22)}.webp.tmp`);
    for (const name of [`${old}`, `${fresh}`, 'notes.tmp']) await writeFile(join(path, name), '');
    const anHourAgo = new Date(Date.now() - 3_600_000);
    await utimes(join(path, `${old}`), anHourAgo, anHourAgo);
    await openAvatarFolder(path, BASE_URL);
    expect((await readdir(path)).sort()).toEqual([fresh, DEFAULT_AVATAR_NAME, 'notes.tmp'].sort());
  });

  test('reports a write that fails and leaves no part of it', async () => {
    const name = newAvatarName();
    await mkdir(join(path, name));
    await expect(store.put(name, Buffer.from('x'))).rejects.toThrow('EISDIR');
    expect((await readdir(path)).sort()).toEqual([name, DEFAULT_AVATAR_NAME].sort());
  });
});

async function put(content: string): Promise<string> {
  const name = newAvatarName();
  await store.put(name, Buffer.from(content));
  return name;
}

async function avatars(): Promise<string[]> {
  return (await readdir(path)).filter(isAvatarName).sort();
}

describe('the URL of an avatar', () => {
  test('is its name under the base', () => {
    expect(store.url('AAAAAAAAAAAAAAAAAAAAAA.webp')).toBe(
      'https://cdn.example.org/avatars/AAAAAAAAAAAAAAAAAAAAAA.webp',
    );
  });

  test('is that of the default avatar for those who have none', () => {
    expect(avatarUrls('http://127.0.0.1:3000/avatars').url(null)).toBe(
      'http://127.0.0.1:3000/avatars/default.webp',
    );
  });
});
