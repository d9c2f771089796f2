import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import type {
  Appreciation,
  AppreciationPage,
  Message,
  MessagePage,
  Space,
} from '../../generated/types.gen.ts';
import { transact } from '../../server/database/transaction.ts';
import type { TestUser } from '../support/client.ts';
import { isPostgresql } from '../support/databases.ts';
import { getError } from '../support/errors.ts';
import { nextPage, readPages } from '../support/pages.ts';
import { createSpace, joinSpace, sendMessage } from '../support/spaces.ts';
import { useApp } from '../support/use-app.ts';

const app = useApp();
/** Creates the spaces. */
let ann: TestUser;
/** Participates in the spaces. */
let ben: TestUser;
/** Has an account, but does not participate. */
let carl: TestUser;
/** Is not signed in. */
let stranger: Pick<TestUser, 'client'>;

beforeAll(async () => {
  ann = await app.register('ann');
  ben = await app.register('ben');
  carl = await app.register('carl');
  stranger = { client: app.client() };
});

let space: Space;
beforeEach(async () => {
  space = await createSpace(ann);
  await joinSpace(ben, space);
});

type Reader = Pick<TestUser, 'client'>;

const list = async ({ client }: Reader, { space_id }: Space = space) =>
  (await api.listMessages({ client, query: { space_id }, throwOnError: true })).data.items;

const appreciate = async ({ client }: Reader, { message_id }: Message) =>
  (await api.appreciateMessage({ client, path: { message_id }, throwOnError: true })).data;

const withdraw = async ({ client }: Reader, { message_id }: Message) =>
  (await api.withdrawAppreciation({ client, path: { message_id }, throwOnError: true })).data;

const leave = ({ client }: Reader, { space_id }: Space = space) =>
  api.leaveSpace({ client, path: { space_id }, throwOnError: true });

const makePrivate = async ({ space_id }: Space = space) => {
  const body = { visibility: 'private' as const };
  const path = { space_id };
  return (await api.updateSpace({ client: ann.client, path, body, throwOnError: true })).data;
};

const texts = (messages: Message[]) => messages.map(({ text }) => text);

describe('sendMessage', () => {
  test('returns the message as listMessages returns it to everyone', async () => {
    const before = Date.now();
    const message = await sendMessage(ben, space, 'It’s 80 % hydration, isn’t it?');
    expect(message).toEqual({
      message_id: expect.any(String),
      space_id: space.space_id,
      author: {
        user_id: ben.userId,
        username: 'ben',
        profile_picture: `${app.url}/avatars/default.webp`,
      },
      text: 'It’s 80 % hydration, isn’t it?',
      word_count: 5,
      appreciation_count: 0,
      is_appreciated: false,
      is_blocked: false,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      edited_at: null,
      is_reply: false,
      reply_to: null,
      mentions: [],
    });
    expect(Date.parse(message.created_at)).toBeGreaterThanOrEqual(before);
    for (const reader of [ann, ben, carl, stranger]) expect(await list(reader)).toEqual([message]);
  });

  test.each([
    ['line breaks, tabs and spaces', ' one\r\n\ttwo\n\n three '],
    ['JSON and SQL', `{"a":1} [1,2] '; DROP TABLE messages; --`],
    ['2,000 code points', '🫖'.repeat(2000)],
    ['a single emoji', '👩🏾‍💻'],
    ['right-to-left text', 'مرحبا بكم'],
    ['the characters next to rejected ones', '\uFFFD\u{10FFFF}\u00A0x'],
  ])('stores %s unchanged', async (_, text) => {
    expect((await sendMessage(ann, space, text)).text).toBe(text);
    expect(texts(await list(stranger))).toEqual([text]);
  });

  test.each([
    ['an empty text', ''],
    ['a blank text', ' \n\t\u2003'],
    ['an invisible text', '\u200B\u2060'],
    ['a control character', 'bell \x07'],
    ['an escape sequence', '\x1B[31mred'],
    ['2,001 code points', 'a'.repeat(2001)],
  ])('rejects %s', async (_, text) => {
    const body = { space_id: space.space_id, text };
    const { error, response } = await api.sendMessage({ client: ben.client, body });
    expect(response?.status).toBe(400);
    expect(error).toMatchObject({ code: 'invalid_request', errors: [{ pointer: '/text' }] });
    expect(await list(ben)).toEqual([]);
  });

  test('rejects users who are not participants or have left', async () => {
    const body = { space_id: space.space_id, text: 'hello' };
    const sendError = (user: TestUser) => getError(api.sendMessage({ client: user.client, body }));
    expect(await sendError(carl)).toBe('403 not_a_participant');
    await leave(ben);
    expect(await sendError(ben)).toBe('403 not_a_participant');
    expect(await list(ann)).toEqual([]);
    await joinSpace(ben, space);
    await sendMessage(ben, space, 'hello');
    expect(texts(await list(ann))).toEqual(['hello']);
  });
});

describe('sendMessage with reply_to', () => {
  // On PostgreSQL, the reply does not wait for the other transaction.
  test.skipIf(isPostgresql)('quotes a message that changes meanwhile as it is then', async () => {
    const { space_id } = space;
    const { message_id } = await sendMessage(ben, space, 'Original');
    const held = Promise.withResolvers<void>();
    const changed = transact(app.context.engine, async (trx) => {
      await held.promise;
      await trx
        .updateTable('messages')
        .set({ text: 'Changed' })
        .where('message_id', '=', message_id)
        .execute();
    });
    const body = { space_id, text: 'I agree.', reply_to: message_id };
    const replied = api.sendMessage({ client: ann.client, body, throwOnError: true });
    await sleep(200);
    held.resolve();
    await changed;
    expect((await replied).data.reply_to?.text).toBe('Changed');
  });

  const reply = async (user: TestUser, { message_id }: Message, { space_id }: Space = space) =>
    api.sendMessage({
      client: user.client,
      body: { space_id, text: 'I agree.', reply_to: message_id },
    });

  test('returns the message that is answered to everyone, as it is now', async () => {
    const long = 'ä'.repeat(140);
    const original = await sendMessage(ann, space, `${long}!`);
    const { data } = await reply(ben, original);
    const quoted = {
      message_id: original.message_id,
      author: original.author,
      text: `${long}…`,
      created_at: original.created_at,
    };
    expect(data).toMatchObject({ text: 'I agree.', is_reply: true, reply_to: quoted });
    for (const reader of [ann, carl, stranger]) expect((await list(reader))[0]).toEqual(data);
    const path = { message_id: original.message_id };
    const body = { text: 'Shorter' };
    await api.editMessage({ client: ann.client, path, body, throwOnError: true });
    expect((await list(stranger))[0]?.reply_to).toEqual({ ...quoted, text: 'Shorter' });
    expect((await list(stranger))[1]).toMatchObject({ is_reply: false, reply_to: null });
  });

  test('stays a reply when the message is deleted', async () => {
    const original = await sendMessage(ann, space, 'Hello');
    const { data } = await reply(ben, original);
    const path = { message_id: original.message_id };
    await api.deleteMessage({ client: ann.client, path, throwOnError: true });
    expect(await list(stranger)).toEqual([{ ...data, is_reply: true, reply_to: null }]);
  });

  test('rejects messages of other spaces and unknown ones, also in private', async () => {
    const hidden = await createSpace(ann, { visibility: 'private' });
    const elsewhere = await sendMessage(ann, hidden, 'Secret');
    const unknown = { ...elsewhere, message_id: 'unknown' };
    for (const user of [ann, ben, carl]) {
      for (const message of [elsewhere, unknown]) {
        const { error } = await reply(user, message);
        expect(error).toMatchObject({
          status: 404,
          code: 'message_not_found',
          errors: [{ pointer: '/reply_to' }],
        });
      }
    }
    expect(await getError(reply(ben, elsewhere, hidden))).toBe('404 space_not_found');
    expect(await list(ann)).toEqual([]);
  });
});

describe('a mention', () => {
  const namesIn = ({ mentions }: Pick<Message, 'mentions'>) =>
    mentions.map(({ username }) => username).sort();
  const participationOf = async ({ client }: TestUser) =>
    (await api.getParticipation({ client, path: space, throwOnError: true })).data;

  test('is of the longest username after an @ that a user has, whatever its case', async () => {
    await app.register('ada');
    await app.register('ada lovelace');
    await app.register('dot.ted-name');
    const examples: [string, string[]][] = [
      ['@ada lovelace and @BEN', ['ada lovelace', 'ben']],
      ['@ada, @ada! (@ada) @ada', ['ada']],
      ['@ada lovelaces', ['ada']],
      ['@ADA  lovelace', ['ada']],
      ['@dot.ted-name. @dot.ted', ['dot.ted-name']],
      ['@adam @ada-x ada@ben.example @@ada @ ada', []],
      ['@\u0061\u200bda', []],
    ];
    for (const [text, names] of examples) {
      const message = await sendMessage(ann, space, text);
      expect(namesIn(message), text).toEqual(names);
      expect((await list(stranger))[0]).toEqual(message);
    }
  });

  test('has at most 20 users, the first ones in the text', async () => {
    const users = await Promise.all(Array.from({ length: 21 }, (_, i) => app.register(`m${i}`)));
    const text = users.map(({ username }) => `@${username}`).join(' ');
    const names = users.slice(0, 20).map(({ username }) => username);
    expect(namesIn(await sendMessage(ann, space, text))).toEqual(names.sort());
  });

  test('finds only participants in a private space, and counts as unread for them', async () => {
    await makePrivate();
    const message = await sendMessage(ann, space, '@carl @ben @ann @nobody');
    expect(namesIn(message)).toEqual(['ann', 'ben']);
    expect(await participationOf(ben)).toMatchObject({ unread_count: 1, unread_mentions: 1 });
    expect(await participationOf(ann)).toMatchObject({ unread_count: 0, unread_mentions: 0 });
    await sendMessage(ann, space, 'Nobody');
    expect(await participationOf(ben)).toMatchObject({ unread_count: 2, unread_mentions: 1 });
    const path = { space_id: space.space_id };
    const body = { message_id: message.message_id };
    await api.markRead({ client: ben.client, path, body, throwOnError: true });
    expect(await participationOf(ben)).toMatchObject({ unread_count: 1, unread_mentions: 0 });
  });

  test('stays when the user takes another name, and ends with the account and with an edit', async () => {
    const user = await app.register('before');
    const message = await sendMessage(ann, space, '@before and @ben');
    const body = { username: 'afterwards' };
    await api.changeUsername({ client: user.client, body, throwOnError: true });
    const read = async () => (await list(stranger))[0] as Message;
    expect(namesIn(await read())).toEqual(['afterwards', 'ben']);
    await api.deleteAccount({ client: user.client, throwOnError: true });
    expect(namesIn(await read())).toEqual(['ben']);
    const path = { message_id: message.message_id };
    const edit = (text: string) => api.editMessage({ client: ann.client, path, body: { text } });
    expect(await participationOf(ben)).toMatchObject({ unread_mentions: 1 });
    const edited = await edit('@carl');
    expect(namesIn(edited.data as Message)).toEqual(['carl']);
    expect(await read()).toEqual(edited.data);
    expect(await participationOf(ben)).toMatchObject({ unread_mentions: 0 });
    await edit('@ben @before');
    expect(namesIn(await read())).toEqual(['ben']);
    expect(await participationOf(ben)).toMatchObject({ unread_mentions: 1 });
  });
});

describe('listMessages', () => {
  test('returns the newest first, even among messages of the same millisecond', async () => {
    const sent: string[] = [];
    for (const i of Array(30).keys()) {
      sent.unshift((await sendMessage(ann, space, `No. ${i}`)).text);
    }
    const query = { space_id: space.space_id, limit: 100 };
    const { data } = await api.listMessages({ client: stranger.client, query, throwOnError: true });
    expect(texts(data.items)).toEqual(sent);
  });

  test('returns messages of the requested space only', async () => {
    const other = await createSpace(ann);
    await sendMessage(ann, other, 'there');
    await sendMessage(ann, space, 'here');
    expect(texts(await list(ann))).toEqual(['here']);
  });

  describe('pagination', () => {
    /** The texts in the order of the list. */
    let sent: string[];
    let longSpace: Space;
    let path: string;
    beforeAll(async () => {
      longSpace = await createSpace(ann);
      path = `/api/messages?space_id=${longSpace.space_id}`;
      for (let i = 1; i <= 11; i += 1) await sendMessage(ann, longSpace, `No. ${i}`);
      const messages = await list(ann, longSpace);
      // Sets the same timestamp for the messages in the middle, as an import can. Their ids then decide.
      const middle = messages.slice(2, 9);
      await app.context.engine.db
        .updateTable('messages')
        .set({ created_at: middle[0]?.created_at as string })
        .where('text', 'in', texts(middle))
        .execute();
      middle.sort((a, b) => (a.message_id > b.message_id ? -1 : 1));
      sent = texts([...messages.slice(0, 2), ...middle, ...messages.slice(9)]);
    });

    test.each([1, 2, 3, 4, 5, 10, 11, 12])(
      'returns the same list in pages of %i',
      async (limit) => {
        const pages = await readPages<Message>(app, `${path}&limit=${limit}`);
        expect(pages.flatMap(texts)).toEqual(sent);
        expect(pages).toHaveLength(Math.ceil(sent.length / limit));
      },
    );

    test('neither repeats nor skips messages while others are sent and deleted', async () => {
      const first = await app.fetch(`${path}&limit=4`);
      const { items: page } = (await first.json()) as MessagePage;
      const added = await sendMessage(ann, longSpace, 'in between');
      for (const message of [added, page[3] as Message]) {
        await api.deleteMessage({
          client: ann.client,
          path: { message_id: message.message_id },
          throwOnError: true,
        });
      }
      const rest = await readPages<Message>(app, nextPage(first) as string);
      expect([...texts(page), ...rest.flatMap(texts)]).toEqual(sent);
    });
  });
});

describe('editMessage', () => {
  let author: TestUser;
  let message: Message;
  beforeEach(async () => {
    author = await app.register();
    await joinSpace(author, space);
    message = await sendMessage(author, space, 'One two thre');
  });

  const edit = ({ client }: Reader, text: string, headers = {}) =>
    api.editMessage({ client, path: { message_id: message.message_id }, headers, body: { text } });

  test('replaces the text for everyone, and counts the new words', async () => {
    await appreciate(ann, message);
    const { data: edited, response } = await edit(author, 'One two three four');
    expect(edited).toEqual({
      ...message,
      text: 'One two three four',
      word_count: 4,
      appreciation_count: 1,
      edited_at: expect.any(String),
    });
    expect(edited?.edited_at).toSatisfy((time: string) => time > message.created_at);
    for (const reader of [author, carl, stranger]) expect(await list(reader)).toEqual([edited]);
    const path = { message_id: message.message_id };
    const read = await api.getMessage({ client: author.client, path });
    expect(response?.headers.get('etag')).toBe(read.response?.headers.get('etag'));
    const { data } = await api.getProfile({ client: author.client, throwOnError: true });
    expect(data.stats).toMatchObject({ total_words_contributed: 4 });
    const participation = await api.getParticipation({ client: ann.client, path: space });
    expect(participation.data?.last_message?.text).toBe('One two three four');
  });

  test('leaves a message unchanged that has the text already', async () => {
    expect((await edit(author, message.text)).data).toEqual(message);
    expect(await list(stranger)).toEqual([message]);
  });

  test('has the rules of new texts', async () => {
    for (const text of ['', ' \n', '\u200B', 'bell \x07', 'a'.repeat(2001)]) {
      const { error } = await edit(author, text);
      expect(error).toMatchObject({ code: 'invalid_request', errors: [{ pointer: '/text' }] });
    }
    expect(await list(author)).toEqual([message]);
  });

  test('rejects the edit of a message that has been changed since the ETag in If-Match', async () => {
    const path = { message_id: message.message_id };
    const read = await api.getMessage({ client: author.client, path });
    const headers = { 'If-Match': read.response?.headers.get('etag') };
    const { data: first, response } = await edit(author, 'first', headers);
    expect(await getError(edit(author, 'second', headers))).toBe('412 precondition_failed');
    expect(await list(author)).toEqual([first]);
    const next = { 'If-Match': response?.headers.get('etag') };
    expect((await edit(author, 'second', next)).data).toMatchObject({ text: 'second' });
  });
});

test('getMessage with the ETag of the message returns 304 until anything in its response changes', async () => {
  const author = await app.register();
  await joinSpace(author, space);
  const { data, response } = await api.sendMessage({
    client: author.client,
    body: { space_id: space.space_id, text: 'hello' },
  });
  const message = data as Message;
  let etag = response?.headers.get('etag') ?? '';
  const get = () =>
    app.fetch(`/api/messages/${message.message_id}`, {
      headers: { ...author.headers, 'if-none-match': etag },
    });
  const changes = [
    () => appreciate(ann, message),
    () => withdraw(ann, message),
    () => api.changeUsername({ client: author.client, body: { username: 'benjamin' } }),
  ];
  for (const change of changes) {
    expect((await get()).status).toBe(304);
    await change();
    const changed = await get();
    expect(changed.status).toBe(200);
    etag = changed.headers.get('etag') ?? '';
  }
});

describe('listMessages with around', () => {
  /** In the order of the list. */
  let messages: Message[];
  beforeEach(async () => {
    messages = [];
    for (let i = 0; i < 9; i += 1) messages.unshift(await sendMessage(ann, space, `No. ${i}`));
  });

  const pageAround = async (around: string, limit: number) => {
    const query = { space_id: space.space_id, around, limit };
    return (await api.listMessages({ client: ben.client, query, throwOnError: true })).data;
  };

  test.each([1, 2, 3, 4, 5, 20])(
    'returns each message in the middle of a page of at most %i, which leads to all others',
    async (limit) => {
      const ids = messages.map(({ message_id }) => message_id);
      for (const [i, { message_id, space_id }] of messages.entries()) {
        const page = await pageAround(message_id, limit);
        const found = page.items.map((each) => each.message_id);
        const first = Math.max(0, i - Math.floor(limit / 2));
        expect(found).toEqual(ids.slice(first, first + limit));

        const older = page.next_cursor
          ? await readPages<Message>(
              app,
              `/api/messages?space_id=${space_id}&around=${message_id}&limit=100&cursor=${page.next_cursor}`,
            )
          : [];
        expect(older.flat()).toEqual(messages.slice(first + limit));
        const query = { space_id, after: page.newer_cursor, limit: 100 };
        const newer = await api.listMessages({ client: ben.client, query, throwOnError: true });
        expect(newer.data.items).toEqual(messages.slice(0, first).reverse());
      }
    },
  );

  test('returns the first unread messages for the time of the last read one', async () => {
    const { created_at } = messages[4] as Message;
    const page = await pageAround(created_at, 4);
    expect(page.items).toEqual(messages.slice(2, 6));
    expect((await pageAround('2000-01-01T00:00:00.000Z', 4)).items).toEqual(messages.slice(7));
    expect((await pageAround('2100-01-01T00:00:00.000Z', 4)).items).toEqual(messages.slice(0, 4));
  });

  test('returns what happens after the page', async () => {
    const { newer_cursor: after } = await pageAround((messages[0] as Message).message_id, 2);
    const changed = await appreciate(ben, messages[3] as Message);
    const sent = await sendMessage(ann, space, 'later');
    const query = { space_id: space.space_id, after };
    const next = await api.listMessages({ client: ben.client, query, throwOnError: true });
    expect(next.data).toMatchObject({ items: [sent], changed_items: [changed] });
  });

  test('returns an empty page of an empty space for a time', async () => {
    space = await createSpace(ann);
    const page = await pageAround('2026-01-01T00:00:00.000Z', 20);
    expect(page).toMatchObject({ items: [], next_cursor: null });
    const sent = await sendMessage(ann, space, 'first');
    const query = { space_id: space.space_id, after: page.newer_cursor };
    const next = await api.listMessages({ client: ben.client, query, throwOnError: true });
    expect(next.data.items).toEqual([sent]);
  });

  test('leads to the first message of a space, also from a later time', async () => {
    const { space_id } = await createSpace(ann);
    const query = { space_id, around: '2100-01-01T00:00:00.000Z' };
    const page = await api.listMessages({ client: ann.client, query, throwOnError: true });
    const sent = await sendMessage(ann, { space_id }, 'first');
    const after = page.data.newer_cursor;
    const next = await api.listMessages({
      client: ann.client,
      query: { space_id, after },
      throwOnError: true,
    });
    expect(next.data.items).toEqual([sent]);
  });

  test('rejects messages of other spaces, deleted and unknown ones, and times that do not exist', async () => {
    const elsewhere = await sendMessage(ann, await createSpace(ann), 'elsewhere');
    const deleted = messages[0] as Message;
    await api.deleteMessage({ client: ann.client, path: deleted, throwOnError: true });
    const errorOf = (around: string) => {
      const query = { space_id: space.space_id, around };
      return getError(api.listMessages({ client: ben.client, query }));
    };
    for (const around of [elsewhere.message_id, deleted.message_id, 'unknown']) {
      expect(await errorOf(around)).toBe('404 message_not_found');
    }
    for (const around of [
      '2026-13-01T00:00:00.000Z',
      '2026-02-30T00:00:00.000Z',
      '2026-01-01T00:00:00Z',
      'a:b',
      '',
    ]) {
      expect(await errorOf(around)).toBe('400 invalid_request');
    }
  });
});

describe('deleteMessage', () => {
  const remove = ({ client }: Reader, { message_id }: Message) =>
    api.deleteMessage({ client, path: { message_id } });

  test('deletes the message and its appreciations for everyone', async () => {
    const message = await sendMessage(ben, space, 'Nobody should have read this.');
    const other = await sendMessage(ben, space, 'This may stay.');
    await appreciate(ann, message);
    await remove(ben, message);
    expect(await list(stranger)).toEqual([other]);
    const { client } = ann;
    const path = { message_id: message.message_id };
    for (const call of [
      remove(ben, message),
      api.appreciateMessage({ client, path }),
      api.withdrawAppreciation({ client, path }),
    ]) {
      expect(await getError(call)).toBe('404 message_not_found');
    }
    const { data } = await api.getProfile({ client: ben.client, throwOnError: true });
    expect(data.stats).toMatchObject({ total_appreciations_received: 0 });
  });

  test.each(['public', 'private'] as const)(
    'lets the creator of a %s space delete messages of others, and updates the statistics of their authors',
    async (visibility) => {
      const author = await app.register();
      await joinSpace(author, space);
      const message = await sendMessage(author, space, 'three words here');
      const other = await sendMessage(author, space, 'two words');
      await appreciate(carl, message);
      if (visibility === 'private') await makePrivate();
      await leave(author);
      expect((await remove(ann, message)).response?.status).toBe(200);
      expect(await list(ann)).toEqual([other]);
      const { data } = await api.getProfile({ client: author.client, throwOnError: true });
      expect(data.stats).toMatchObject({
        spaces_participated: 1,
        total_words_contributed: 2,
        total_appreciations_received: 0,
      });
      expect(await getError(remove(ann, message))).toBe('404 message_not_found');
    },
  );

  test('lets authors who have left delete their messages, even if the space has become private', async () => {
    const first = await sendMessage(ben, space, 'one');
    const second = await sendMessage(ben, space, 'two');
    await leave(ben);
    expect((await remove(ben, first)).response?.status).toBe(200);
    await makePrivate();
    expect((await remove(ben, second)).response?.status).toBe(200);
    expect(await list(ann)).toEqual([]);
  });
});

describe('listAppreciations', () => {
  let message: Message;
  let readers: TestUser[];
  beforeEach(async () => {
    message = await sendMessage(ann, space, 'hello');
    readers = [ben, carl, await app.register()];
    for (const reader of readers) await appreciate(reader, message);
  });

  const namesOf = (page: AppreciationPage | undefined) =>
    page?.items.map(({ user }) => user.username);
  const listOf = ({ client }: Reader) =>
    api.listAppreciations({ client, path: { message_id: message.message_id } });

  test('returns the users with the time, the latest first', async () => {
    const names = readers.map(({ username }) => username).reverse();
    const { data } = await listOf(carl);
    expect(namesOf(data)).toEqual(names);
    expect(data?.items[2]).toEqual({
      user: {
        user_id: ben.userId,
        username: 'ben',
        profile_picture: message.author.profile_picture,
      },
      created_at: expect.any(String),
    });
    const times = data?.items.map(({ created_at }) => created_at) ?? [];
    expect(times).toEqual([...times].sort().reverse());
    await withdraw(carl, message);
    expect(namesOf((await listOf(ann)).data)).toEqual(names.filter((name) => name !== 'carl'));
  });

  test('returns the same list in pages, also if several appreciations have the same time', async () => {
    const created_at = '2026-01-01T00:00:00.000Z';
    await app.context.engine.db.updateTable('appreciations').set({ created_at }).execute();
    const names = readers.map(({ username }) => username).reverse();
    for (const limit of [1, 2, 3]) {
      const path = `/api/messages/${message.message_id}/appreciations?limit=${limit}`;
      const pages = await readPages<Appreciation>(app, path, { headers: ann.headers });
      expect(pages.flat().map(({ user }) => user.username)).toEqual(names);
      expect(pages).toHaveLength(Math.ceil(names.length / limit));
    }
  });
});

describe('appreciateMessage and withdrawAppreciation', () => {
  let message: Message;
  beforeEach(async () => {
    message = await sendMessage(ben, space, 'hello');
  });

  test('count one appreciation per user, participant or not, and tell the caller’s own', async () => {
    const appreciated = { ...message, is_appreciated: true };
    expect(await appreciate(ann, message)).toEqual({ ...appreciated, appreciation_count: 1 });
    expect(await appreciate(carl, message)).toEqual({ ...appreciated, appreciation_count: 2 });
    expect(await list(ann)).toEqual([{ ...appreciated, appreciation_count: 2 }]);
    for (const reader of [ben, stranger]) {
      expect(await list(reader)).toEqual([{ ...message, appreciation_count: 2 }]);
    }
  });

  test('count repeated and concurrent appreciations of a user once', async () => {
    await appreciate(ann, message);
    await Promise.all(Array.from({ length: 12 }, () => appreciate(carl, message)));
    expect((await appreciate(ann, message)).appreciation_count).toBe(2);
  });

  test('withdraw an appreciation once, and count a new one afterwards', async () => {
    await appreciate(ann, message);
    await appreciate(carl, message);
    expect(await withdraw(carl, message)).toEqual({ ...message, appreciation_count: 1 });
    expect(await withdraw(carl, message)).toEqual({ ...message, appreciation_count: 1 });
    expect((await appreciate(carl, message)).appreciation_count).toBe(2);
  });

  test('reject an appreciation of the caller’s own message', async () => {
    const path = { message_id: message.message_id };
    const call = api.appreciateMessage({ client: ben.client, path });
    expect(await getError(call)).toBe('403 own_message');
    expect(await list(ben)).toEqual([message]);
  });

  test('change the count of one message only', async () => {
    const other = await sendMessage(ben, space, 'hello again');
    await appreciate(ann, other);
    const appreciated = { ...other, appreciation_count: 1, is_appreciated: true };
    expect(await list(ann)).toEqual([appreciated, message]);
    await withdraw(ann, message);
    expect(await list(ann)).toEqual([appreciated, message]);
  });
});
