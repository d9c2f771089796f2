import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import type { Participation } from '../../generated/types.gen.ts';
import { restoreAccount, suspendAccount } from '../../server/account-lifecycle/suspension.ts';
import { importRecords } from '../../server/import-export/import.ts';
import type { TestUser } from '../support/client.ts';
import { getError } from '../support/errors.ts';
import { toLines } from '../support/ndjson.ts';
import { readPages } from '../support/pages.ts';
import {
  createSpace,
  joinSpace,
  leaveSpace,
  listParticipations,
  sendMessage,
} from '../support/spaces.ts';
import { useApp } from '../support/use-app.ts';

const app = useApp();
let ann: TestUser;
let ben: TestUser;
let spaces = 0;

beforeAll(async () => {
  ann = await app.register('ann');
  ben = await app.register('ben');
});

/** A time on a day on which `ben` has joined the imported spaces at 00:00. */
const at = (time: string, day = '2026-01-01') => `${day}T${time}:00.000Z`;

/** Creates a space of `ann` that `ben` has joined, with messages of both. */
async function importSpace(
  messages: { by: TestUser; time: string }[] = [],
  day?: string,
): Promise<string> {
  spaces += 1;
  const space_id = `s${spaces}`;
  const creator_id = ann.userId;
  const user_id = ben.userId;
  await importRecords(
    app.context.engine,
    toLines([
      { type: 'space', space_id, creator_id, title: 'Tea', created_at: at('00:00') },
      { type: 'participant', space_id, user_id, joined_at: at('00:00', day) },
      ...messages.map(({ by, time }, i) => ({
        type: 'message',
        message_id: `${space_id}-${i}`,
        space_id,
        author_id: by.userId,
        text: 'Hello',
        created_at: at(time, day),
      })),
    ]),
  );
  return space_id;
}

const participationOf = async ({ client }: TestUser, space_id: string): Promise<Participation> =>
  (await api.getParticipation({ client, path: { space_id }, throwOnError: true })).data;

const markRead = ({ client }: TestUser, space_id: string, message_id: string) =>
  api.markRead({ client, path: { space_id }, body: { message_id } });

describe('a participation', () => {
  test('has no last message in a space without messages', async () => {
    expect(await participationOf(ben, await importSpace())).toMatchObject({
      joined_at: at('00:00'),
      role: 'participant',
      read_until: at('00:00'),
      last_message_at: null,
      last_message: null,
      unread_count: 0,
    });
  });

  test('counts messages of other users since the caller joined', async () => {
    const space = await createSpace(ann);
    await sendMessage(ann, space, 'Nobody is here yet.');
    await sleep(2);
    await joinSpace(ben, space);
    await sleep(2);
    expect(await participationOf(ben, space.space_id)).toMatchObject({ unread_count: 0 });
    await sendMessage(ben, space, 'Now I am.');
    const { created_at } = await sendMessage(ann, space, 'Hello!');
    expect(await participationOf(ben, space.space_id)).toMatchObject({
      last_message_at: created_at,
      unread_count: 1,
    });
    expect(await participationOf(ann, space.space_id)).toMatchObject({ unread_count: 1 });
  });

  test('counts new messages after an import with times in the future', async () => {
    const space_id = await importSpace([{ by: ann, time: '01:00' }], '2100-01-01');
    const path = { message_id: `${space_id}-0` };
    const imported = await api.getMessage({ client: ann.client, path, throwOnError: true });
    expect(Date.parse(imported.data.created_at)).toBeLessThanOrEqual(Date.now());
    await markRead(ben, space_id, path.message_id);
    const { created_at } = await sendMessage(ann, { space_id }, 'Hello!');
    expect(await participationOf(ben, space_id)).toMatchObject({
      last_message_at: created_at,
      unread_count: 1,
    });
  });

  test('does not count deleted messages', async () => {
    const space_id = await importSpace([
      { by: ann, time: '01:00' },
      { by: ann, time: '02:00' },
    ]);
    const path = { message_id: `${space_id}-1` };
    await api.deleteMessage({ client: ann.client, path, throwOnError: true });
    expect(await participationOf(ben, space_id)).toMatchObject({
      last_message_at: at('01:00'),
      last_message: { message_id: `${space_id}-0`, created_at: at('01:00') },
      unread_count: 1,
    });
  });

  test('counts unread messages among the latest 100', async () => {
    const messages = Array.from({ length: 101 }, () => ({ by: ann, time: '01:00' }));
    const space_id = await importSpace(messages);
    expect((await participationOf(ben, space_id)).unread_count).toBe(100);
    await sendMessage(ben, { space_id }, 'So many!');
    expect((await participationOf(ben, space_id)).unread_count).toBe(99);
  });
});

describe('a last message', () => {
  const previewOf = async (text: string) => {
    const space = await createSpace(ann);
    const { message_id, author, created_at } = await sendMessage(ann, space, text);
    const { last_message } = await participationOf(ann, space.space_id);
    expect(last_message).toMatchObject({ message_id, author, created_at });
    return last_message?.text;
  };

  test('has its author and the beginning of its text, in whole code points', async () => {
    expect(await previewOf('Hello')).toBe('Hello');
    expect(await previewOf('🍵'.repeat(140))).toBe('🍵'.repeat(140));
    expect(await previewOf('🍵'.repeat(141))).toBe(`${'🍵'.repeat(140)}…`);
  });

  test('is never by a deleted account', async () => {
    const carl = await app.register();
    const space = await createSpace(ann);
    await joinSpace(carl, space);
    const kept = await sendMessage(ann, space, 'kept');
    await sendMessage(carl, space, 'deleted');
    await api.deleteAccount({ client: carl.client, throwOnError: true });
    expect((await participationOf(ann, space.space_id)).last_message).toMatchObject({
      message_id: kept.message_id,
    });
  });
});

describe('the first page of participations', () => {
  test('has the unread messages of all spaces', async () => {
    const [reader, carl] = [await app.register(), await app.register()];
    const [read, unread, other] = [
      await createSpace(ann),
      await createSpace(carl),
      await createSpace(reader),
    ];
    for (const user of [reader, carl, ann]) {
      for (const space of [read, unread, other]) await joinSpace(user, space);
    }
    await sleep(2);
    const { message_id } = await sendMessage(ann, read, 'read');
    await markRead(reader, read.space_id, message_id);
    for (const space of [unread, unread, other]) await sendMessage(ann, space, 'unread');
    await sendMessage(reader, unread, 'my own');
    const pageOf = async (query: { sort?: 'recent'; limit?: number; cursor?: string }) =>
      (await api.listParticipations({ client: reader.client, query, throwOnError: true })).data;
    const unreadTotals = { space_count: 2, message_count: 3 };
    expect(await pageOf({ sort: 'recent' })).toMatchObject({ unread: unreadTotals });
    const first = await pageOf({ limit: 1 });
    expect(first.unread).toEqual(unreadTotals);
    expect((await pageOf({ limit: 1, cursor: first.next_cursor as string })).unread).toBeNull();
    await suspendAccount(app.context.engine, carl.userId);
    expect((await pageOf({})).unread).toEqual({ space_count: 1, message_count: 1 });
    await restoreAccount(app.context.engine, carl.userId);
    expect((await pageOf({})).unread).toEqual(unreadTotals);
    await leaveSpace(reader, unread);
    expect((await pageOf({})).unread).toEqual({ space_count: 1, message_count: 1 });
  });
});

describe('markRead', () => {
  let space_id: string;
  beforeEach(async () => {
    space_id = await importSpace([
      { by: ann, time: '01:00' },
      { by: ann, time: '02:00' },
      { by: ann, time: '03:00' },
    ]);
  });

  test('marks the message and earlier ones as read, for the caller only', async () => {
    const { data } = await markRead(ben, space_id, `${space_id}-1`);
    expect(data).toMatchObject({ read_until: at('02:00'), unread_count: 1 });
    expect(data).toEqual(await participationOf(ben, space_id));
    expect(await participationOf(ann, space_id)).toMatchObject({ read_until: at('00:00') });
  });

  test('never moves back, and can be repeated', async () => {
    for (const message of [2, 0, 2]) {
      const { data } = await markRead(ben, space_id, `${space_id}-${message}`);
      expect(data).toMatchObject({ read_until: at('03:00'), unread_count: 0 });
    }
  });

  test('keeps the position when the message is deleted, and starts again after joining again', async () => {
    await markRead(ben, space_id, `${space_id}-1`);
    const path = { message_id: `${space_id}-1` };
    await api.deleteMessage({ client: ann.client, path, throwOnError: true });
    expect(await participationOf(ben, space_id)).toMatchObject({ read_until: at('02:00') });
    await leaveSpace(ben, { space_id });
    await joinSpace(ben, { space_id });
    const { joined_at, ...rejoined } = await participationOf(ben, space_id);
    expect(rejoined).toMatchObject({ read_until: joined_at, unread_count: 0 });
  });

  test('rejects callers who do not participate, and messages of other spaces', async () => {
    const message_id = `${space_id}-0`;
    const carl = await app.register();
    expect(await getError(markRead(carl, space_id, message_id))).toBe('403 not_a_participant');
    const other = await importSpace();
    expect(await getError(markRead(ben, other, message_id))).toBe('404 message_not_found');
    expect(await getError(markRead(ben, 'unknown', message_id))).toBe('404 space_not_found');
  });
});

test('listParticipations sorts by the last message, or by the time of joining without one', async () => {
  const reader = await app.register();
  const titles = async (sort: 'recent' | 'joined') => {
    const path = `/api/participations?limit=2&sort=${sort}`;
    const pages = await readPages<Participation>(app, path, { headers: reader.headers });
    return pages.flatMap((page) => page.map(({ space }) => space.title));
  };
  const record = (title: string, joined_at: string, messages: string[]) => [
    { type: 'space', space_id: title, creator_id: ann.userId, title, created_at: at('00:00') },
    { type: 'participant', space_id: title, user_id: reader.userId, joined_at: at(joined_at) },
    ...messages.map((time) => ({
      type: 'message',
      space_id: title,
      author_id: ann.userId,
      text: 'Hello',
      created_at: at(time),
    })),
  ];
  await importRecords(
    app.context.engine,
    toLines([
      ...record('quiet', '04:00', []),
      ...record('lively', '01:00', ['02:00', '09:00', '03:00']),
      ...record('old', '07:00', ['02:00']),
      ...record('older', '08:00', ['01:00']),
      ...record('fresh', '05:00', ['06:00']),
    ]),
  );
  expect(await titles('recent')).toEqual(['lively', 'fresh', 'quiet', 'old', 'older']);
  expect(await titles('joined')).toEqual(['older', 'old', 'fresh', 'quiet', 'lively']);
  expect(await listParticipations(reader)).toHaveLength(5);
});
