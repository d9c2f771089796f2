import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import { operations } from '../../server/contract.ts';
import { usernameSkeleton } from '../../server/text/username-keys.ts';
import { startApp, type TestApp, type TestUser } from '../support/app.ts';
import { avatarFile, uploadAvatar } from '../support/avatar.ts';
import { readDataFolder } from '../support/data-files.ts';
import { isPostgresql } from '../support/databases.ts';
import { waitForDictionary } from '../support/dictionary.ts';
import { exampleRequest, inputNamesOf } from '../support/requests.ts';
import { createSpace, joinSpace, sendMessage, spaceCreation } from '../support/spaces.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app[Symbol.asyncDispose]());

const appreciate = async ({ client }: TestUser, { message_id }: { message_id: string }) =>
  (await api.appreciateMessage({ client, path: { message_id }, throwOnError: true })).data;

const statsOf = async ({ client }: TestUser) =>
  (await api.getProfile({ client, throwOnError: true })).data.stats;

const deleteAccount = ({ client }: TestUser) => api.deleteAccount({ client, throwOnError: true });

describe('The deletion of an account', () => {
  test('ends all its sessions immediately', async () => {
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
    ['a malformed body', { headers: { 'content-type': 'application/json' }, body: '{' }],
  ])('is accepted from a request with %s', async (_, init: RequestInit) => {
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

  test('makes its username, confusable usernames and its email address available again', async () => {
    const user = await app.register('milan');
    await deleteAccount(user);
    const next = await app.register('Milan');
    expect(next.userId).not.toBe(user.userId);
    await deleteAccount(next);
    const { response } = await api.register({
      client: app.client(),
      body: { username: 'rnilan', email: user.email.toUpperCase(), password: user.password },
    });
    expect(response?.status).toBe(201);
  });

  test('removes it from every response and from the statistics of other users', async () => {
    const [gone, other] = [await app.register(), await app.register()];
    const title = 'Vanishing lighthouses';
    const own = await createSpace(gone, { title, tags: ['lighthouse'] });
    const hidden = await createSpace(gone, { visibility: 'private' });
    const foreign = await createSpace(other, { title: 'Remaining lighthouses' });
    await joinSpace(other, own);
    await joinSpace(other, hidden);
    await joinSpace(gone, foreign);
    const inOwn = await sendMessage(other, own, 'six words in a deleted space');
    const inHidden = await sendMessage(other, hidden, 'three more words');
    const inForeign = await sendMessage(other, foreign, 'three remaining words');
    const ofGone = await sendMessage(gone, foreign, 'three deleted words');
    for (const message of [inOwn, inHidden, inForeign]) await appreciate(gone, message);
    await appreciate(other, ofGone);
    expect(await statsOf(other)).toEqual({
      spaces_created: 1,
      spaces_participated: 3,
      total_words_contributed: 12,
      total_appreciations_received: 3,
    });

    await waitForDictionary(app);
    await deleteAccount(gone);

    const { client } = other;
    const ids = [
      ['user_id', gone.userId],
      ['space_id', own.space_id],
      ['space_id', hidden.space_id],
      ['message_id', ofGone.message_id],
      ['message_id', inOwn.message_id],
    ] as const;
    for (const [name, id] of ids) {
      const operationsWithId = operations.filter((operation) =>
        inputNamesOf(operation).includes(name),
      );
      expect(operationsWithId).not.toEqual([]);
      for (const operation of operationsWithId) {
        const { url, init } = exampleRequest(operation, { [name]: id });
        const headers = { ...(init.headers as Record<string, string>), ...other.headers };
        const { status } = await app.fetch(url, { ...init, headers });
        expect(status, operation.operationId).toBe(404);
      }
    }
    // The second query would be corrected to the first if the dictionary still contained its word.
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

  test('does not change the participant count of spaces that the user had left', async () => {
    const [gone, other] = [await app.register(), await app.register()];
    const space = await createSpace(other);
    await joinSpace(gone, space);
    await api.leaveSpace({ client: gone.client, path: { space_id: space.space_id } });
    await deleteAccount(gone);
    const { data } = await api.getSpace({
      client: other.client,
      path: { space_id: space.space_id },
    });
    expect(data?.participant_count).toBe(1);
  });

  test('leaves no data from requests in progress during the deletion', async () => {
    const [gone, other] = [await app.register(), await app.register()];
    const { client, email, password } = gone;
    const foreign = await createSpace(other);
    await joinSpace(gone, foreign);
    const avatar = await avatarFile();
    const sendRequests = (): Promise<{ response?: Response }>[] => [
      api.sendMessage({ client, body: { space_id: foreign.space_id, text: 'Wait!' } }),
      api.changeUsername({ client, body: { username: 'late' } }),
      api.changeBio({ client, body: { bio: 'Too late' } }),
      api.changeProfilePicture({ client, body: { avatar } }),
      api.createSpace({ client, body: spaceCreation({ title: 'Belated' }) }),
      api.login({ client: app.client(), body: { email, password } }),
    ];
    const pending = [...sendRequests(), ...sendRequests()];
    const deletion = deleteAccount(gone);
    for (let i = 0; i < 4; i += 1) {
      await sleep(3);
      pending.push(...sendRequests());
    }
    await deletion;
    // Each completed before the deletion or was rejected after it.
    const statuses = new Set((await Promise.all(pending)).map(({ response }) => response?.status));
    expect([...statuses].filter((status) => ![200, 201, 401].includes(status ?? 0))).toEqual([]);

    const { db } = app.context.engine;
    const rows = await db
      .selectFrom('users')
      .select('pk')
      .where('user_id', '=', gone.userId)
      .execute();
    expect(rows).toEqual([]);
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
    expect(await listAvatarFiles(app)).toEqual(['default.webp']);
  });

  test('leaves no avatar from an upload in progress during the deletion', async () => {
    const gone = await app.register();
    const { avatars } = app.context;
    const { put } = avatars;
    avatars.put = async (...file) => {
      await put(...file);
      await deleteAccount(gone);
    };
    const { response } = await api.changeProfilePicture({
      client: gone.client,
      body: { avatar: await avatarFile() },
    });
    avatars.put = put;
    expect(response?.status).toBe(401);
    expect(await listAvatarFiles(app)).toEqual(['default.webp']);
  });

  // PostgreSQL makes no such guarantee. See SECURITY.md.
  test.skipIf(isPostgresql)('leaves no part of its texts in any file', async () => {
    await using quiet = await startApp({ RATE_LIMITS: 'on' });
    const other = await quiet.register();
    const foreign = await createSpace(other);
    const dictionaryBefore = await waitForTrie(quiet);
    // Random letters that occur nowhere else. Some are folded by the search, and some are in an unspaced script.
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
      report: 'Zvqxjwundle',
      reportOfOther: 'Wvzqjxhinto',
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
    await api.reportSpace({
      client,
      path: foreign,
      body: { reason: canary.report },
      throwOnError: true,
    });
    await api.reportSpace({
      client: other.client,
      path: own,
      body: { reason: canary.reportOfOther },
      throwOnError: true,
    });
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
    const file = (await uploadAvatar({ client })).split('/').at(-1) ?? '';
    const ids = [data.user_id, own.space_id, hidden.space_id, file];

    const texts = [...Object.values(canary), ...ids];
    const missing = async () => {
      const bytes = await readDataFiles(quiet);
      return texts.filter((text) => !bytes.includes(text));
    };
    await expect.poll(missing, { timeout: 10_000 }).toEqual([]);
    const trie = await waitForTrie(quiet);
    for (const text of [canary.title, canary.description]) expect(contains(trie, text)).toBe(true);

    await deleteAccount(gone);
    expect(await listAvatarFiles(quiet)).not.toContain(file);
    const left = await readDataFilesAfterPurge(quiet);
    const erased = [...Object.values(before), ...Object.values(canary)];
    expect(erased.filter((text) => contains(left, text))).toEqual([]);
    expect(ids.filter((id) => left.includes(id))).toEqual([]);
    // The purge includes the dictionary, so there is no need to wait for it.
    expect(await readTrie(quiet)).toEqual(dictionaryBefore);
  });

  // FTS5 stores additions and deletions in segments. Whether it merges them depends on their number.
  test.skipIf(isPostgresql)(
    'leaves no part of its spaces in any file, regardless of their number',
    async () => {
      await using quiet = await startApp();
      await createSpace(await quiet.register(), { title: 'Remaining', description: 'Untouched' });
      for (const count of [1, 2, 3, 4, 6]) {
        const gone = await quiet.register();
        const titles = Array.from({ length: count }, (_, i) => nonsense(count * 7 + i));
        for (const title of titles) await createSpace(gone, { title });
        await deleteAccount(gone);
        const left = await readDataFilesAfterPurge(quiet);
        expect(titles.filter((title) => contains(left, title))).toEqual([]);
      }
    },
    120_000,
  );
});

/**
 * Returns all substrings of 5 bytes of a text, its folded form, its lower case and its skeleton, in UTF-8, and all
 * substrings of 5 code units in UTF-16, the encoding of the dictionary.
 */
function fragmentsOf(text: string): Buffer[] {
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

function contains(bytes: Buffer, text: string): boolean {
  return fragmentsOf(text).some((trace) => bytes.includes(trace));
}

/** Returns ten letters in an order that does not occur in words, different for each seed. */
function nonsense(seed: number): string {
  const letters = 'qxjzwvkyf';
  return Array.from({ length: 10 }, (_, i) => letters[(seed * (i + 3) + i * i) % 9]).join('');
}

/** Returns names and content of all files in the data folder: database, write-ahead log, limits and avatars. */
async function readDataFiles({ context }: TestApp): Promise<Buffer> {
  const files = await readDataFolder(context.config.dataDir);
  expect(files.map(({ name }) => name)).toContain('space-service.sqlite-wal');
  return Buffer.concat(files.flatMap(({ name, content }) => [Buffer.from(name), content]));
}

/** Waits until all pending purges are complete, then reads the data files. */
async function readDataFilesAfterPurge(of: TestApp): Promise<Buffer> {
  const pending = of.context.engine.db.selectFrom('pending_purges').select('id');
  await expect.poll(() => pending.execute(), { timeout: 60_000 }).toEqual([]);
  return readDataFiles(of);
}

/** Waits until the dictionary is current, then returns its words as they are stored. */
async function waitForTrie(of: TestApp): Promise<Buffer> {
  await waitForDictionary(of);
  return readTrie(of);
}

async function readTrie({ context }: TestApp): Promise<Buffer> {
  const { db } = context.engine;
  const { trie } = await db.selectFrom('dictionary').select('trie').executeTakeFirstOrThrow();
  return Buffer.from(trie);
}

/** Deletes discarded avatars. Returns the remaining files in the avatar folder. */
async function listAvatarFiles({ context }: TestApp): Promise<string[]> {
  await context.housekeeping.run();
  return readdir(join(context.config.dataDir, 'avatars'));
}
