import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import type { AccountData, Message, Space } from '../../generated/types.gen.ts';
import { withCallbackAfterQuery } from '../support/after-query.ts';
import { startApp, type TestApp } from '../support/app.ts';
import { uploadAvatar } from '../support/avatar.ts';
import type { TestUser } from '../support/client.ts';
import { head } from '../support/raw.ts';
import { createSpace, getSpace, joinSpace, leaveSpace, sendMessage } from '../support/spaces.ts';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

/** Number of bytes that this thread uses. The memory of the process would have garbage, too. */
function usedMemory(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

let app: TestApp;
/** The number of queries that requests have executed. */
let queries = 0;
beforeAll(async () => {
  const countQuery = async () => {
    queries += 1;
  };
  app = await startApp(
    {},
    { engine: (real) => ({ ...real, db: withCallbackAfterQuery(real.db, countQuery) }) },
  );
});
afterAll(() => app[Symbol.asyncDispose]());

const download = async ({ client }: Pick<TestUser, 'client'>): Promise<AccountData> =>
  (await api.downloadAccountData({ client, throwOnError: true })).data;

/** Inserts messages of a user directly, because thousands of requests would take long. */
async function insertMessages(
  { userId }: TestUser,
  { space_id }: Space,
  count: number,
  text: (i: number) => string,
): Promise<void> {
  const { db } = app.context.engine;
  const { pk: author_pk } = await db
    .selectFrom('users')
    .select('pk')
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow();
  const { pk: space_pk } = await db
    .selectFrom('spaces')
    .select('pk')
    .where('space_id', '=', space_id)
    .executeTakeFirstOrThrow();
  const created_at = new Date().toISOString();
  await db.transaction().execute(async (trx) => {
    for (let first = 0; first < count; first += 1_000) {
      const rows = Array.from({ length: Math.min(1_000, count - first) }, (_, i) => ({
        message_id: `${userId}-${first + i}`,
        space_pk,
        author_pk,
        text: text(first + i),
        word_count: (first + i) % 3,
        created_at,
      }));
      await trx.insertInto('messages').values(rows).execute();
    }
  });
}

/** Sends a request, and waits until its queries have ended. Returns their number. */
async function countQueries(send: () => Promise<unknown>): Promise<number> {
  const atStart = queries;
  await send();
  for (let before = -1; before !== queries; ) {
    before = queries;
    await sleep(300);
  }
  return queries - atStart;
}

describe('downloadAccountData', () => {
  test('returns everything that the service stores about the caller', async () => {
    const [ada, bob] = [await app.register('ada'), await app.register('bob')];
    const { client } = ada;
    await api.changeBio({ client, body: { bio: 'Likes "tea"\nand scones' }, throwOnError: true });
    await uploadAvatar(ada);
    const own = await createSpace(ada, { title: 'Tea', tags: ['Tea', 'cake'] });
    const hidden = await createSpace(ada, { title: 'Secret tea', visibility: 'private' });
    const [joined, left] = [await createSpace(bob), await createSpace(bob)];
    const barred = await createSpace(bob);
    await joinSpace(ada, joined);
    await joinSpace(ada, left);
    await joinSpace(ada, barred);
    const first = await sendMessage(ada, own, 'Two words');
    const { message_id: reply_to } = await sendMessage(bob, left, 'Hello');
    const answer = { space_id: left.space_id, text: 'Three words, @bob', reply_to };
    const { data: second } = await api.sendMessage({ client, body: answer, throwOnError: true });
    const ofBob = await sendMessage(bob, joined, 'Hello');
    const body = { message_id: ofBob.message_id };
    await api.markRead({ client, path: joined, body, throwOnError: true });
    await leaveSpace(ada, left);
    const removal = { space_id: barred.space_id, user_id: ada.userId };
    await api.removeParticipant({ client: bob.client, path: removal, throwOnError: true });
    await api.appreciateMessage({ client, path: ofBob, throwOnError: true });
    await joinSpace(bob, own);
    await api.appreciateMessage({ client: bob.client, path: first, throwOnError: true });
    await api.reportSpace({ client, path: joined, body: { reason: 'Boring' }, throwOnError: true });
    await api.reportMessage({ client, path: ofBob, body: { reason: 'Rude' }, throwOnError: true });
    const person = { path: { user_id: bob.userId }, body: { reason: 'Rude everywhere' } };
    await api.reportUser({ client, ...person, throwOnError: true });
    await api.blockUser({ client, path: person.path, throwOnError: true });
    const { email, password } = ada;
    await api.login({ client: app.client(), body: { email, password }, throwOnError: true });

    const nothing = { space_id: null, message_id: null, user_id: null };
    const data = await download(ada);
    const { data: profile } = await api.getProfile({ client, throwOnError: true });
    expect(profile.profile_picture).not.toContain('default');
    const sessions = (await api.listSessions({ client, throwOnError: true })).data.items;
    expect(sessions).toHaveLength(2);
    const ownMessage = (
      { author: _, is_appreciated: __, is_blocked: ___, reply_to, mentions, ...message }: Message,
      appreciation_count: number,
    ) => ({
      ...message,
      appreciation_count,
      reply_to: reply_to?.message_id ?? null,
      mentions: mentions.map(({ user_id }) => user_id),
    });
    const time = expect.any(String);
    const [created_at, joined_at] = [time, time];
    const participation = {
      joined_at,
      left_at: null,
      removed_at: null,
      read_until: null,
      is_moderator: false,
      muted: false,
    };
    expect(data).toEqual({
      account: profile,
      sessions,
      tokens: [],
      spaces: [await getSpace(ada, own), await getSpace(ada, hidden)],
      participations: [
        { ...participation, space_id: own.space_id },
        { ...participation, space_id: hidden.space_id },
        { ...participation, space_id: joined.space_id, read_until: ofBob.created_at },
        { ...participation, space_id: left.space_id, left_at: time },
        { ...participation, space_id: barred.space_id, left_at: time, removed_at: time },
      ],
      messages: [ownMessage(first, 1), ownMessage(second, 0)],
      appreciations: [{ message_id: ofBob.message_id, created_at }],
      reports: [
        { ...nothing, space_id: joined.space_id, reason: 'Boring', created_at },
        { ...nothing, message_id: ofBob.message_id, reason: 'Rude', created_at },
        { ...nothing, user_id: bob.userId, reason: 'Rude everywhere', created_at },
      ],
      blocks: [{ user: ofBob.author, created_at }],
    });
    expect(data.spaces[1]?.invitation_code).toBe(hidden.invitation_code);
  });

  test('returns empty lists for a new account', async () => {
    const data = await download(await app.register());
    expect(data.sessions).toHaveLength(1);
    expect(data).toMatchObject({
      spaces: [],
      participations: [],
      messages: [],
      appreciations: [],
      reports: [],
      blocks: [],
    });
  });

  test('returns each item of long lists once', async () => {
    const [user, other] = [await app.register(), await app.register()];
    const spaces: Space[] = [];
    for (let i = 0; i < 101; i += 1) spaces.push(await createSpace(user, { title: `Tea ${i}` }));
    const [space, second] = spaces as [Space, Space];
    await insertMessages(user, space, 449, (i) => `Message ${i}`);
    await sendMessage(user, second, 'four words in another');
    await joinSpace(other, space);
    await insertMessages(other, space, 101, (i) => `Message ${i}`);
    for (let i = 0; i < 101; i += 1) {
      const path = { message_id: `${other.userId}-${i}` };
      await api.appreciateMessage({ client: user.client, path, throwOnError: true });
    }
    const data = await download(user);
    const distinct = (ids: string[]) => {
      expect(new Set(ids).size).toBe(ids.length);
      return ids.length;
    };
    expect(distinct(data.spaces.map(({ space_id }) => space_id))).toBe(101);
    expect(distinct(data.participations.map(({ space_id }) => space_id))).toBe(101);
    expect(distinct(data.messages.map(({ message_id }) => message_id))).toBe(450);
    expect(distinct(data.appreciations.map(({ message_id }) => message_id))).toBe(101);
  });

  test('ends soon after its session has ended', async () => {
    const user = await app.register();
    const space = await createSpace(user);
    await insertMessages(user, space, 10_000, (i) => `${i} ${'茶'.repeat(1_000)}`);
    const response = await fetch(`${app.url}/api/profile/data`, { headers: user.headers });
    let isSignedIn = true;
    let messages = 0;
    const receive = async () => {
      for await (const part of response.body as unknown as AsyncIterable<Uint8Array>) {
        if (isSignedIn) await api.logout({ client: user.client, throwOnError: true });
        isSignedIn = false;
        messages += Buffer.from(part).toString('latin1').split('"message_id"').length - 1;
      }
    };
    await expect(receive()).rejects.toThrow('terminated');
    // Buffers of the connection have up to 10 MB, 3,000 messages.
    expect(messages).toBeLessThan(5_000);
  });

  test('neither blocks other requests nor fills the memory for 100,000 messages', async () => {
    const user = await app.register();
    const space = await createSpace(user);
    await insertMessages(user, space, 100_000, (i) => `${i} ${'Lorem ipsum '.repeat(65)}`);
    const MAX_OTHERS = 200;
    let isDownloading = true;
    let others = 0;
    const sendOthers = async () => {
      while (isDownloading && others < MAX_OTHERS) {
        const response = await app.fetch(`/api/spaces/${space.space_id}`);
        expect(response.status).toBe(200);
        others += 1;
      }
    };
    // Not with `app.fetch`, because it would keep the whole text to validate it.
    const response = await fetch(`${app.url}/api/profile/data`, { headers: user.headers });
    const sending = sendOthers();
    const before = usedMemory();
    let maxBytes = 0;
    let bytes = 0;
    let measuredAt = 0;
    try {
      for await (const part of response.body as unknown as AsyncIterable<Uint8Array>) {
        bytes += part.length;
        if (bytes < measuredAt + 10_000_000) continue;
        measuredAt = bytes;
        maxBytes = Math.max(maxBytes, usedMemory());
      }
    } finally {
      isDownloading = false;
      await sending;
    }
    expect(bytes).toBeGreaterThan(100_000_000);
    expect(others).toBeGreaterThan(100);
    expect((maxBytes - before) / 2 ** 20, 'MiB').toBeLessThan(30);
  });

  test('is aborted if the account is deleted meanwhile', async () => {
    const user = await app.register();
    const space = await createSpace(user);
    await insertMessages(user, space, 20_000, (i) => `${i} ${'Lorem ipsum '.repeat(80)}`);
    const { hostname, port } = new URL(app.url);
    // Without a listener for data, the client does not read, so the server can send only the beginning.
    const socket = connect(Number(port), hostname);
    try {
      socket.write(head('GET', '/api/profile/data', { Authorization: `Bearer ${user.token}` }));
      await once(socket, 'readable');
      await api.deleteAccount({ client: user.client, throwOnError: true });
      const parts: Buffer[] = [];
      socket.on('data', (part: Buffer) => void parts.push(part));
      await once(socket, 'close');
      const text = Buffer.concat(parts).toString('latin1');
      expect(text).toContain('"messages":[');
      // The last chunk of a complete response is empty.
      expect(text).not.toMatch(/\r\n0\r\n\r\n$/);
    } finally {
      socket.destroy();
    }
  });

  describe('with 20,000 messages', () => {
    /** A complete download takes about 800 queries. */
    const MAX_QUERIES = 200;
    let headers: Record<string, string>;
    beforeAll(async () => {
      const user = await app.register();
      headers = user.headers;
      const space = await createSpace(user);
      await insertMessages(user, space, 20_000, (i) => `${i} ${'Lorem ipsum '.repeat(80)}`);
    });
    const url = () => `${app.url}/api/profile/data`;

    test('reads only the beginning for a HEAD request', async () => {
      const count = await countQueries(async () => {
        const response = await fetch(url(), { method: 'HEAD', headers });
        expect(response.status).toBe(200);
      });
      expect(count).toBeLessThan(MAX_QUERIES);
    });

    test('stops reading when the client disconnects', async () => {
      const count = await countQueries(async () => {
        const aborting = new AbortController();
        const response = await fetch(url(), { headers, signal: aborting.signal });
        await response.body?.getReader().read();
        aborting.abort();
      });
      expect(count).toBeLessThan(MAX_QUERIES);
    });
  });
});
