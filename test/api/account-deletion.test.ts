import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import { usernameSkeleton } from '../../server/accounts/username.ts';
import { operations } from '../../server/contract.ts';
import { startApp, type TestApp, type TestUser } from '../support/app.ts';
import { avatarFile } from '../support/avatar.ts';
import { waitForDictionary } from '../support/dictionary.ts';
import { exampleRequest, inputNamesOf } from '../support/requests.ts';
import { createSpace, joinSpace, sendMessage } from '../support/spaces.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app[Symbol.asyncDispose]());

const appreciate = async ({ client }: TestUser, { message_id }: { message_id: string }) =>
  (await api.appreciateMessage({ client, path: { message_id }, throwOnError: true })).data;

const statsOf = async ({ client }: TestUser) =>
  (await api.getProfile({ client, throwOnError: true })).data.stats;

const erase = ({ client }: TestUser) => api.deleteAccount({ client, throwOnError: true });

describe('A deleted account', () => {
  test('is gone at once, with all its sessions', async () => {
    const user = await app.register();
    const { email, password } = user;
    const login = await api.login({ client: app.client(), body: { email, password } });
    const { data, response } = await api.deleteAccount({ client: user.client });
    expect(response?.status).toBe(200);
    expect(data).toEqual({ message: 'Your account and everything in it has been deleted.' });

    for (const token of [user.token, login.data?.access_token]) {
      const client = app.client(token);
      expect((await api.getProfile({ client })).error).toMatchObject({ status: 401 });
      expect((await api.deleteAccount({ client })).error).toMatchObject({ status: 401 });
    }
    const again = await api.login({ client: app.client(), body: { email, password } });
    expect(again.error).toMatchObject({ status: 401, code: 'credentials_incorrect' });
  });

  test.each([
    ['no type and no body', {}],
    ['the type application/json and no body', { headers: { 'content-type': 'application/json' } }],
    ['another type and no body', { headers: { 'content-type': 'text/plain' } }],
    ['a body, which nobody reads', { headers: { 'content-type': 'application/json' }, body: '{' }],
  ])('is deleted by a request with %s', async (_, init: RequestInit) => {
    const user = await app.register();
    const headers = { ...user.headers, ...init.headers };
    const response = await app.fetch('/api/profile/account', {
      ...init,
      method: 'DELETE',
      headers,
    });
    expect(response.status).toBe(200);
    expect((await api.getProfile({ client: user.client })).response?.status).toBe(401);
  });

  test('leaves its name, look-alikes of it and its address to whoever comes next', async () => {
    const user = await app.register('milan');
    await erase(user);
    const next = await app.register('Milan');
    expect(next.userId).not.toBe(user.userId);
    await erase(next);
    const { response } = await api.register({
      client: app.client(),
      body: { username: 'rnilan', email: user.email.toUpperCase(), password: user.password },
    });
    expect(response?.status).toBe(201);
  });

  test('takes what it made from every endpoint, and from what others count', async () => {
    const [gone, other] = [await app.register(), await app.register()];
    const title = 'Vanishing lighthouses';
    const own = await createSpace(gone, { title, tags: ['lighthouse'] });
    const hidden = await createSpace(gone, { visibility: 'private' });
    const foreign = await createSpace(other, { title: 'Remaining lighthouses' });
    await joinSpace(other, own);
    await joinSpace(other, hidden);
    await joinSpace(gone, foreign);
    const inOwn = await sendMessage(other, own, 'words in a space that goes');
    const inHidden = await sendMessage(other, hidden, 'more of them');
    const inForeign = await sendMessage(other, foreign, 'words that stay');
    const ofGone = await sendMessage(gone, foreign, 'words that go');
    for (const message of [inOwn, inHidden, inForeign]) await appreciate(gone, message);
    await appreciate(other, ofGone);
    expect(await statsOf(other)).toEqual({
      spaces_created: 1,
      spaces_participated: 3,
      total_words_contributed: 12,
      total_appreciations_received: 3,
    });

    await waitForDictionary(app);
    await erase(gone);

    const { client } = other;
    const ids = [
      ['user_id', gone.userId],
      ['space_id', own.space_id],
      ['space_id', hidden.space_id],
      ['message_id', ofGone.message_id],
      ['message_id', inOwn.message_id],
    ] as const;
    for (const [name, id] of ids) {
      const about = operations.filter((operation) => inputNamesOf(operation).includes(name));
      expect(about).not.toEqual([]);
      for (const operation of about) {
        const { url, init } = exampleRequest(operation, { [name]: id });
        const headers = { ...(init.headers as Record<string, string>), ...other.headers };
        const { status } = await app.fetch(url, { ...init, headers });
        expect(status, operation.operationId).toBe(404);
      }
    }
    // Nor is a word that only it used offered as the correction of another.
    for (const q of ['vanishing', 'vanishinq']) {
      const { data, response } = await api.searchSpaces({ client, query: { q } });
      expect(data).toEqual([]);
      expect(response?.headers.has('answered-query')).toBe(false);
    }
    const { data: typed } = await api.searchSpaces({ client, query: { q: title, as_typed: true } });
    expect(typed).toEqual([]);
    await waitForDictionary(app);
    const { data: others } = await api.searchSpaces({ client, query: { q: title } });
    expect(others?.map(({ space_id }) => space_id)).toEqual([foreign.space_id]);
    expect((await api.searchSpacesByTag({ client, path: { tag: 'lighthouse' } })).data).toEqual([]);

    const spaces = await api.listParticipations({ client });
    expect(spaces.data?.map(({ space }) => space.space_id)).toEqual([foreign.space_id]);
    const found = await api.searchSpaces({ client, query: { q: 'remaining lighthouses' } });
    expect(found.data).toMatchObject([{ space_id: foreign.space_id, participant_count: 1 }]);
    const messages = await api.listMessages({ client, query: { space_id: foreign.space_id } });
    expect(messages.data).toMatchObject([
      { message_id: inForeign.message_id, appreciation_count: 0 },
    ]);
    expect(messages.data).toHaveLength(1);
    expect(await statsOf(other)).toEqual({
      spaces_created: 1,
      spaces_participated: 1,
      total_words_contributed: 3,
      total_appreciations_received: 0,
    });
  });

  test('changes no count of spaces that it had left', async () => {
    const [gone, other] = [await app.register(), await app.register()];
    const space = await createSpace(other);
    await joinSpace(gone, space);
    await api.leaveSpace({ client: gone.client, path: { space_id: space.space_id } });
    await erase(gone);
    const { data } = await api.getSpace({
      client: other.client,
      path: { space_id: space.space_id },
    });
    expect(data?.participant_count).toBe(1);
  });

  test('leaves nothing that was under way when it was deleted', async () => {
    const [gone, other] = [await app.register(), await app.register()];
    const { client, email, password } = gone;
    const foreign = await createSpace(other);
    await joinSpace(gone, foreign);
    const avatar = await avatarFile();
    const begin = (): Promise<{ response?: Response }>[] => [
      api.sendMessage({ client, body: { space_id: foreign.space_id, text: 'Wait!' } }),
      api.changeUsername({ client, body: { username: 'late' } }),
      api.changeBio({ client, body: { bio: 'Too late' } }),
      api.changeProfilePicture({ client, body: { avatar } }),
      api.createSpace({
        client,
        body: { title: 'Belated', description: '', visibility: 'public', tags: [] },
      }),
      api.login({ client: app.client(), body: { email, password } }),
    ];
    const underWay = [...begin(), ...begin()];
    const deletion = erase(gone);
    for (let i = 0; i < 4; i += 1) {
      await sleep(3);
      underWay.push(...begin());
    }
    await deletion;
    // Done before, or refused because there is nobody any more.
    const statuses = new Set((await Promise.all(underWay)).map(({ response }) => response?.status));
    expect([...statuses].filter((status) => ![200, 201, 401].includes(status ?? 0))).toEqual([]);

    const { db } = app.context.engine;
    const mine = await db
      .selectFrom('users')
      .select('pk')
      .where('user_id', '=', gone.userId)
      .execute();
    expect(mine).toEqual([]);
    const { data } = await api.listMessages({
      client: other.client,
      query: { space_id: foreign.space_id },
    });
    expect(data).toEqual([]);
    const space = await api.getSpace({
      client: other.client,
      path: { space_id: foreign.space_id },
    });
    expect(space.data?.participant_count).toBe(1);
    const belated = await api.searchSpaces({ client: other.client, query: { q: 'belated' } });
    expect(belated.data).toEqual([]);
    expect(await avatarFiles(app)).toEqual(['default.webp']);
  });

  test('leaves no avatar that was being stored when it was deleted', async () => {
    const gone = await app.register();
    const { avatars } = app.context;
    const { put } = avatars;
    avatars.put = async (...file) => {
      await put(...file);
      await erase(gone);
    };
    const { response } = await api.changeProfilePicture({
      client: gone.client,
      body: { avatar: await avatarFile() },
    });
    avatars.put = put;
    expect(response?.status).toBe(401);
    expect(await avatarFiles(app)).toEqual(['default.webp']);
  });

  test('leaves no byte of its texts in any file', async () => {
    await using quiet = await startApp({ RATE_LIMITS: 'on' });
    const other = await quiet.register();
    const foreign = await createSpace(other);
    const dictionaryBefore = await currentTrie(quiet);
    // Letters that nothing else here puts side by side; some are folded, and some are written without spaces.
    const before = {
      username: 'qyxjforbwe',
      bio: 'Jvqxwerzuk',
      title: 'Žwjqvyxölk',
      description: 'Wqxjvörteq',
      tag: 'Xqjwvåpleq',
    };
    const canary = {
      username: 'vqjxzorple',
      email: 'zqvwjxatle@example.com',
      bio: 'Kqwjxvünter',
      title: 'Ÿxqwjbrondle',
      unspaced: '龘靐齉爩',
      description: 'Pjxqwzvéndor',
      tag: 'Qxvjwzîrkel',
      message: 'Wjzqxvämpli',
      inOwnSpace: 'Xzjqwvoltri',
      hidden: 'Jqzxwvarnol',
    };
    const { data } = await api.register({
      client: quiet.client(),
      body: { username: before.username, email: canary.email, password: 'correct horse battery' },
      throwOnError: true,
    });
    const gone = { client: quiet.client(data.access_token) } as TestUser;
    const { client } = gone;
    await api.changeBio({ client, body: { bio: before.bio }, throwOnError: true });
    const own = await createSpace(gone, {
      title: before.title,
      description: before.description,
      tags: [before.tag],
    });
    const hidden = await createSpace(gone, { title: canary.hidden, visibility: 'private' });
    await joinSpace(gone, foreign);
    await joinSpace(other, own);
    await joinSpace(other, hidden);
    await sendMessage(gone, foreign, `${canary.message} and more`);
    await sendMessage(other, own, `${canary.inOwnSpace} and more`);
    await api.changeUsername({ client, body: { username: canary.username }, throwOnError: true });
    await api.changeBio({ client, body: { bio: canary.bio }, throwOnError: true });
    await api.updateSpace({
      client,
      path: { space_id: own.space_id },
      body: {
        title: `${canary.title} ${canary.unspaced}`,
        description: `${canary.description} ${canary.unspaced}`,
        tags: [canary.tag],
      },
      throwOnError: true,
    });
    const changed = await api.changeProfilePicture({
      client,
      body: { avatar: await avatarFile() },
      throwOnError: true,
    });
    const file = new URL(changed.data.profile_picture).pathname.split('/').at(-1) ?? '';
    const ids = [data.user_id, own.space_id, hidden.space_id, file];

    const texts = [...Object.values(canary), ...ids];
    const missing = async () => {
      const bytes = await dataFiles(quiet);
      return texts.filter((text) => !bytes.includes(text));
    };
    await expect.poll(missing, { timeout: 10_000 }).toEqual([]);
    const trie = await currentTrie(quiet);
    for (const text of [canary.title, canary.description]) expect(isIn(trie, text)).toBe(true);

    await erase(gone);
    expect(await avatarFiles(quiet)).not.toContain(file);
    const left = await filesAfterPurge(quiet);
    const erased = [...Object.values(before), ...Object.values(canary)];
    expect(erased.filter((text) => isIn(left, text))).toEqual([]);
    expect(ids.filter((id) => left.includes(id))).toEqual([]);
    // At once, because the purge includes the dictionary.
    expect(await trieOf(quiet)).toEqual(dictionaryBefore);
  });

  // An index keeps what is added and removed in segments, and merges them by their number.
  test('leaves no byte of its spaces, however few or many they were', async () => {
    await using quiet = await startApp();
    await createSpace(await quiet.register(), { title: 'Remaining', description: 'Untouched' });
    for (const count of [1, 2, 3, 4, 6]) {
      const gone = await quiet.register();
      const titles = Array.from({ length: count }, (_, i) => nonsense(count * 7 + i));
      for (const title of titles) await createSpace(gone, { title });
      await erase(gone);
      const left = await filesAfterPurge(quiet);
      expect(titles.filter((title) => isIn(left, title))).toEqual([]);
    }
  }, 120_000);
});

/**
 * Every stretch of 5 bytes of a text as it is written, folded, and as it looks, and every stretch of 5 code units, which
 * is how the dictionary stores words.
 */
function traces(text: string): Buffer[] {
  const [word = ''] = text.split('@');
  const folded = word.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  return [word, folded, word.toLowerCase(), usernameSkeleton(word)].flatMap((form) => {
    const bytes = Buffer.from(form);
    const units = Buffer.from(form, 'utf16le');
    return [
      ...Array.from({ length: bytes.length - 4 }, (_, i) => bytes.subarray(i, i + 5)),
      ...Array.from({ length: form.length - 4 }, (_, i) => units.subarray(2 * i, 2 * (i + 5))),
    ];
  });
}

function isIn(bytes: Buffer, text: string): boolean {
  return traces(text).some((trace) => bytes.includes(trace));
}

/** Ten letters that no language puts in a row, others for every seed. */
function nonsense(seed: number): string {
  const letters = 'qxjzwvkyf';
  return Array.from({ length: 10 }, (_, i) => letters[(seed * (i + 3) + i * i) % 9]).join('');
}

/** The bytes of all files in the data folder, with their names: database, log, limits and avatars. */
async function dataFiles({ context }: TestApp): Promise<Buffer> {
  const entries = await readdir(context.config.dataDir, { recursive: true, withFileTypes: true });
  const files = entries.filter((each) => each.isFile());
  expect(files.map(({ name }) => name)).toContain('space-service.sqlite-wal');
  return Buffer.concat(
    await Promise.all(
      files.flatMap(({ parentPath, name }) => [
        Buffer.from(name),
        readFile(path.join(parentPath, name)),
      ]),
    ),
  );
}

/** The same, once everything that is to be overwritten has been. */
async function filesAfterPurge(of: TestApp): Promise<Buffer> {
  const pending = of.context.engine.db.selectFrom('pending_purges').select('id');
  await expect.poll(() => pending.execute(), { timeout: 60_000 }).toEqual([]);
  return dataFiles(of);
}

/** The dictionary's words as they are stored, once they are those of all spaces. */
async function currentTrie(of: TestApp): Promise<Buffer> {
  await waitForDictionary(of);
  return trieOf(of);
}

async function trieOf({ context }: TestApp): Promise<Buffer> {
  const { db } = context.engine;
  const { trie } = await db.selectFrom('dictionary').select('trie').executeTakeFirstOrThrow();
  return Buffer.from(trie);
}

/** The files of avatars, once those to be removed are gone. */
async function avatarFiles({ context }: TestApp): Promise<string[]> {
  await context.housekeeping.run();
  return readdir(path.join(context.config.dataDir, 'avatars'));
}
