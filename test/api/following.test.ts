import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import type { Message, MessagePage, Space } from '../../generated/types.gen.ts';
import { suspendAccount } from '../../server/account-lifecycle/suspension.ts';
import { openFollowers } from '../../server/messages/followers.ts';
import { deleteExpiredChanges } from '../../server/messages/message-order.ts';
import { removeMessage } from '../../server/messages/messages.ts';
import { runAs } from '../../server/system/senders.ts';
import { openWaits } from '../../server/system/waits.ts';
import { startApp } from '../support/app.ts';
import type { TestUser } from '../support/client.ts';
import { getError } from '../support/errors.ts';
import { createSpace, joinSpace, leaveSpace, sendMessage } from '../support/spaces.ts';
import { useApp } from '../support/use-app.ts';

const app = useApp();
/** Creates the spaces. */
let ann: TestUser;
/** Participates in the spaces. */
let ben: TestUser;
let space: Space;

beforeAll(async () => {
  ann = await app.register('ann');
  ben = await app.register('ben');
});

beforeEach(async () => {
  space = await createSpace(ann);
  await joinSpace(ben, space);
});

type Reader = Pick<TestUser, 'client'>;

interface Query {
  after?: string;
  wait?: number;
  limit?: number;
}

const read = async ({ client }: Reader, query: Query = {}, { space_id } = space) =>
  (await api.listMessages({ client, query: { space_id, ...query }, throwOnError: true })).data;

const newest = async (reader: Reader = ann, of = space) =>
  (await read(reader, {}, of)).newer_cursor;

/** Begins to wait. Resolves to functions that return the page or the error, such as `404 space_not_found`. */
async function beginWait({ client }: Reader, { space_id } = space) {
  const first = await api.listMessages({ client, query: { space_id }, throwOnError: true });
  const query = { space_id, after: first.data.newer_cursor, wait: 25 };
  const response = api.listMessages({ client, query });
  // Longer than a poll.
  await sleep(100);
  return {
    page: response.then(({ data }) => data as MessagePage),
    error: () => getError(response),
  };
}

const appreciate = ({ client }: Reader, { message_id }: Message) =>
  api.appreciateMessage({ client, path: { message_id }, throwOnError: true });

const remove = ({ client }: Reader, { message_id }: Message) =>
  api.deleteMessage({ client, path: { message_id }, throwOnError: true });

const texts = (messages: Message[]) => messages.map(({ text }) => text);

describe('getMessage', () => {
  test('returns a message to those who can list it', async () => {
    const sent = await sendMessage(ben, space, 'hello');
    const path = { message_id: sent.message_id };
    const get = (client = app.client()) => api.getMessage({ client, path });
    expect((await get()).data).toEqual(sent);
    const body = { visibility: 'private' as const };
    await api.updateSpace({ client: ann.client, path: space, body, throwOnError: true });
    expect((await get(ben.client)).data).toEqual(sent);
    expect(await getError(get())).toBe('404 message_not_found');
    await leaveSpace(ben, space);
    expect(await getError(get(ben.client))).toBe('404 message_not_found');
  });
});

describe('listMessages with after', () => {
  test('returns every later message once, oldest first', async () => {
    await sendMessage(ann, space, 'before');
    let { newer_cursor } = await read(ann);
    expect(await read(ann, { after: newer_cursor })).toEqual({
      items: [],
      next_cursor: null,
      newer_cursor,
      changed_items: [],
      deleted_message_ids: [],
      is_complete: true,
    });
    for (const text of ['1', '2', '3', '4', '5']) await sendMessage(ben, space, text);
    const pages: string[][] = [];
    for (let i = 0; i < 4; i += 1) {
      const page = await read(ann, { after: newer_cursor, limit: 2 });
      pages.push(texts(page.items));
      newer_cursor = page.newer_cursor;
    }
    expect(pages).toEqual([['1', '2'], ['3', '4'], ['5'], []]);
  });

  test('returns what is newer than any page of the list', async () => {
    for (const text of ['1', '2', '3']) await sendMessage(ann, space, text);
    const first = await read(ann, { limit: 1 });
    const query = { space_id: space.space_id, limit: 1, cursor: first.next_cursor as string };
    const { data: second } = await api.listMessages({ client: ann.client, query });
    expect(texts(second?.items ?? [])).toEqual(['2']);
    expect(texts((await read(ann, { after: second?.newer_cursor as string })).items)).toEqual([
      '3',
    ]);
  });

  test('says whether changes can be missing, and starts again from there', async () => {
    const message = await sendMessage(ann, space, 'kept');
    await sendMessage(ann, space, 'deleted');
    const after = await newest();
    const { engine } = app.context;
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 7 * 86_400_000 });
    try {
      await appreciate(ben, message);
      await deleteExpiredChanges(engine.db);
      expect(await read(ann, { after })).toMatchObject({
        changed_items: [{ appreciation_count: 1 }],
        is_complete: true,
      });
      vi.setSystemTime(Date.now() + 9 * 86_400_000);
      await deleteExpiredChanges(engine.db);
      const startedAt = performance.now();
      const page = await read(ann, { after, wait: 25 });
      expect(performance.now() - startedAt).toBeLessThan(10_000);
      expect(page).toMatchObject({ items: [], changed_items: [], is_complete: false });
      const next = { after: page.newer_cursor, wait: 1 };
      expect(await read(ann, next)).toMatchObject({ is_complete: true });
    } finally {
      vi.useRealTimers();
    }
  });

  test('returns edited messages', async () => {
    const message = await sendMessage(ann, space, 'first');
    const after = await newest();
    const waiting = await beginWait(ben);
    const path = { message_id: message.message_id };
    const body = { text: 'second' };
    const { data } = await api.editMessage({ client: ann.client, path, body, throwOnError: true });
    const expected = { items: [], changed_items: [data], deleted_message_ids: [] };
    expect(await waiting.page).toMatchObject(expected);
    expect(await read(ben, { after })).toMatchObject(expected);
  });

  test('returns deleted messages, and messages with another appreciation count', async () => {
    const [kept, deleted, removed] = [
      await sendMessage(ann, space, 'kept'),
      await sendMessage(ann, space, 'deleted'),
      await sendMessage(ann, space, 'removed'),
    ];
    const after = await newest();
    await appreciate(ben, kept);
    await appreciate(ben, deleted);
    await remove(ann, deleted);
    await removeMessage(app.context.engine, removed.message_id);
    const page = await read(ben, { after });
    expect(page.items).toEqual([]);
    expect(page.changed_items).toEqual([{ ...kept, appreciation_count: 1, is_appreciated: true }]);
    expect(page.deleted_message_ids).toEqual([deleted.message_id, removed.message_id]);

    await api.withdrawAppreciation({ client: ben.client, path: kept, throwOnError: true });
    await api.withdrawAppreciation({ client: ben.client, path: kept, throwOnError: true });
    const next = await read(ben, { after: page.newer_cursor });
    expect(next.changed_items).toEqual([kept]);
    expect((await read(ben, { after: next.newer_cursor })).changed_items).toEqual([]);
  });

  test('returns the deleted messages and appreciations of a deleted account', async () => {
    const carl = await app.register('carl');
    await joinSpace(carl, space);
    const message = await sendMessage(carl, space, 'hello');
    const appreciated = await sendMessage(ann, space, 'thanks');
    await appreciate(carl, appreciated);
    const waiting = await beginWait(ben);
    await api.deleteAccount({ client: carl.client, throwOnError: true });
    const page = await waiting.page;
    expect(page.deleted_message_ids).toEqual([message.message_id]);
    // On a busy machine, another transaction deletes the appreciations.
    const query = { after: page.newer_cursor, wait: 25 };
    const next = page.changed_items.length > 0 ? page : await read(ben, query);
    expect(next.changed_items).toEqual([appreciated]);
  });

  test('follows the order of commits, not that of clocks', async () => {
    const now = Date.now();
    const clock = vi.spyOn(Date, 'now').mockReturnValue(now + 60_000);
    const { created_at } = await sendMessage(ann, space, 'by a clock that is ahead');
    clock.mockRestore();
    const after = await newest();
    const later = await sendMessage(ben, space, 'by this clock');
    expect(Date.parse(later.created_at)).toBe(Date.parse(created_at) + 1);
    expect(texts((await read(ann, { after })).items)).toEqual(['by this clock']);
    expect((await read(ann)).items[0]).toEqual(later);
  });

  test.each([
    {
      deletion: 'its author',
      erase: (author: TestUser, message: Message) => remove(author, message),
    },
    {
      deletion: 'the deletion of its account',
      erase: ({ client }: TestUser) => api.deleteAccount({ client, throwOnError: true }),
    },
  ])(
    'returns the deletion of a message by $deletion after the clock was set back',
    async ({ erase }) => {
      const author = await app.register(`author-${randomUUID()}`);
      await joinSpace(author, space);
      const clock = vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 60_000);
      const message = await sendMessage(author, space, 'by a clock that is ahead');
      clock.mockRestore();
      const after = await newest();
      await erase(author, message);
      await sendMessage(ben, space, 'by this clock');
      await expect
        .poll(async () => (await read(ann, { after })).deleted_message_ids)
        .toEqual([message.message_id]);
      expect(texts((await read(ann, { after })).items)).toEqual(['by this clock']);
    },
  );

  test.each([
    ['wait=1', 'wait'],
    ['wait=26&after=AAAA', 'wait'],
    ['after=AAAA', 'after'],
    ['after=AAAA&cursor=AAAA', 'cursor'],
  ])('rejects %s', async (query, name) => {
    const response = await app.fetch(`/api/messages?space_id=${space.space_id}&${query}`);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ errors: [{ in: 'query', name }] });
  });

  test('rejects the cursors of other spaces, and those of older messages', async () => {
    const other = await createSpace(ann);
    for (const text of ['1', '2']) await sendMessage(ann, space, text);
    const { next_cursor } = await read(ann, { limit: 1 });
    for (const after of [await newest(ann, other), next_cursor as string]) {
      const query = { space_id: space.space_id, after };
      const { error } = await api.listMessages({ client: ann.client, query });
      expect(error).toMatchObject({
        code: 'invalid_cursor',
        errors: [{ in: 'query', name: 'after' }],
      });
    }
  });
});

describe('listMessages with wait', () => {
  test('responds once a message is sent', async () => {
    const waits = await Promise.all(
      [ann, ben, { client: app.client() }].map((each) => beginWait(each)),
    );
    const message = await sendMessage(ann, space, 'hello');
    for (const { page } of waits) expect((await page).items).toEqual([message]);
  });

  test('responds with an empty page after the time', async () => {
    const after = await newest();
    const startedAt = performance.now();
    expect(await read(ann, { after, wait: 1 })).toMatchObject({ items: [], newer_cursor: after });
    expect(performance.now() - startedAt).toBeGreaterThan(950);
  });

  test('responds to events of other processes', async () => {
    await using other = await startApp({}, { sharesDataOf: app });
    const waiting = await beginWait(ben);
    const message = await sendMessage({ client: other.client(ann.token) }, space, 'hello');
    expect((await waiting.page).items).toMatchObject([{ message_id: message.message_id }]);
  });

  test('ends as soon as the caller loses access', async () => {
    const secret = await createSpace(ann, { visibility: 'private' });
    const [carl, dora, emil] = [
      await app.register('carla'),
      await app.register('dora'),
      await app.register('emil'),
    ];
    for (const user of [ben, carl, dora, emil]) await joinSpace(user, secret);
    const stranger = { client: app.client() };
    const ofBen = await createSpace(ben);
    const [left, removed, signedOut, suspended, hidden, closed, deleted] = [
      await beginWait(ben, secret),
      await beginWait(carl, secret),
      await beginWait(dora, secret),
      await beginWait(emil),
      await beginWait(stranger, await createSpace(emil)),
      await beginWait(stranger),
      await beginWait(stranger, ofBen),
    ];
    const stays = await beginWait(ann, secret);
    const startedAt = performance.now();
    await leaveSpace(ben, secret);
    const path = { space_id: secret.space_id, user_id: carl.userId };
    await api.removeParticipant({ client: ann.client, path, throwOnError: true });
    await api.logout({ client: dora.client, throwOnError: true });
    await suspendAccount(app.context.engine, emil.email);
    const body = { visibility: 'private' as const };
    await api.updateSpace({ client: ann.client, path: space, body, throwOnError: true });
    await api.deleteSpace({ client: ben.client, path: ofBen, throwOnError: true });
    for (const wait of [left, removed, hidden, closed, deleted]) {
      expect(await wait.error()).toBe('404 space_not_found');
    }
    for (const wait of [signedOut, suspended]) {
      expect(await wait.error()).toBe('401 unauthenticated');
    }
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    await sendMessage(ann, secret, 'hello');
    expect(texts((await stays.page).items)).toEqual(['hello']);
  });

  test('ends with an empty page when the server stops', async () => {
    const stopping = await startApp({}, { sharesDataOf: app });
    const waiting = await beginWait({ client: stopping.client() });
    const startedAt = performance.now();
    await stopping[Symbol.asyncDispose]();
    expect(await waiting.page).toMatchObject({ items: [], deleted_message_ids: [] });
    expect(performance.now() - startedAt).toBeLessThan(5_000);
  });

  test('serves many readers who continue at different positions', async () => {
    const { engine, followers } = app.context;
    const caller = await engine.db
      .selectFrom('sessions')
      .innerJoin('users', 'users.pk', 'sessions.user_pk')
      .select(['sessions.pk as sessionPk', 'users.pk as userPk', 'user_id as userId'])
      .where('user_id', '=', ann.userId)
      .executeTakeFirstOrThrow();
    // One after the other, because PostgreSQL has few connections.
    const messages = [];
    for (let i = 0; i < 100; i += 1) messages.push(await sendMessage(ann, space, `Message ${i}`));
    for (const message of messages) await appreciate(ben, message);
    // In all, they get more messages than a statement can have parameters.
    const responses = await Promise.all(
      Array.from({ length: 340 }, (_, index) =>
        followers.follow(
          {
            caller: { ...caller, scopes: null },
            spaceId: space.space_id,
            position: [index, ''],
            limit: 100,
            waitMs: 0,
          },
          () => {},
        ),
      ),
    );
    for (const { items } of responses) expect(items).toHaveLength(100);
  });

  test('ends the longest wait of the account with the most waits if there are too many', async () => {
    const { engine, avatars } = app.context;
    const all = openWaits(3);
    const followers = openFollowers({ engine, avatars, waits: all }, () => {});
    const position = [Date.now() + 60_000, ''] as const;
    const ended: string[] = [];
    const waits: Promise<unknown>[] = [];
    for (const [index, network] of ['a', 'a', 'b', 'a', 'a'].entries()) {
      const sender = { network, account: network, request: index };
      const request = {
        caller: null,
        spaceId: space.space_id,
        position,
        limit: 1,
        waitMs: 25_000,
      };
      const wait = runAs(sender, () => followers.follow(request, () => {}));
      waits.push(wait.then(() => ended.push(`${network}${index}`)));
      await sleep(20);
    }
    await expect.poll(() => ended).toEqual(['a0', 'a1']);
    await all.endAll();
    await Promise.all(waits);
    followers.close();
  });
});

describe('a reader', () => {
  const WRITERS = 8;
  const MESSAGES_PER_WRITER = 10;

  /** Lets several users send at the same time, on machines with different clocks. Returns the ids of their messages. */
  async function write(send: (writer: TestUser) => Promise<string>) {
    const realNow = Date.now;
    const now = () => realNow() + Math.round((Math.random() - 0.5) * 1_000);
    const clocks = vi.spyOn(Date, 'now').mockImplementation(now);
    const writers = Array.from({ length: WRITERS }, async (_, i) => {
      const ids: string[] = [];
      while (ids.length < MESSAGES_PER_WRITER) ids.push(await send(i % 2 ? ann : ben));
      return ids;
    });
    const sent = (await Promise.all(writers)).flat();
    clocks.mockRestore();
    return sent.toSorted();
  }

  /** Reads until no messages follow after `writing` has ended. Returns the ids of messages in the order of reading. */
  async function readDuring(writing: Promise<unknown>, readNext: () => Promise<Message[]>) {
    let hasEnded = false;
    void writing.finally(() => {
      hasEnded = true;
    });
    const seen: string[] = [];
    for (;;) {
      const isLast = hasEnded;
      const messages = await readNext();
      seen.push(...messages.map(({ message_id }) => message_id));
      if (isLast && messages.length === 0) return seen;
    }
  }

  test('gets every message once and in the same order as others', async () => {
    const start = await newest();
    const writing = write(async (writer) => (await sendMessage(writer, space, 'hi')).message_id);
    const readers = Array.from({ length: 20 }, (_, i) => {
      let after = start;
      return readDuring(writing, async () => {
        const page = await read(i % 2 ? ann : ben, { after, wait: 1, limit: 1 + i });
        after = page.newer_cursor;
        return page.items;
      });
    });
    const orders = await Promise.all(readers);
    expect(orders[0]?.toSorted()).toEqual(await writing);
    for (const order of orders) expect(order).toEqual(orders[0]);
  });
});
