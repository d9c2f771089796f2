import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import type { Message, Problem, Space } from '../../generated/types.gen.ts';
import { startApp, type TestApp, type TestUser } from '../support/app.ts';
import { avatarFile } from '../support/avatar.ts';
import { nextPage, readPages } from '../support/pages.ts';
import { createSpace, join, refusal, send } from '../support/spaces.ts';

let app: TestApp;
/** Who creates the spaces, who takes part, who does not, and who is not signed in. */
let ann: TestUser;
let ben: TestUser;
let carl: TestUser;
let stranger: Pick<TestUser, 'client'>;

beforeAll(async () => {
  app = await startApp();
  ann = await app.register('ann');
  ben = await app.register('ben');
  carl = await app.register('carl');
  stranger = { client: app.client() };
});
afterAll(() => app[Symbol.asyncDispose]());

let space: Space;
beforeEach(async () => {
  space = await createSpace(ann);
  await join(ben, space);
});

type Reader = Pick<TestUser, 'client'>;

const list = async ({ client }: Reader, { space_id }: Space = space) =>
  (await api.listMessages({ client, query: { space_id }, throwOnError: true })).data;

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

describe('Sending a message', () => {
  test('answers with the message as everyone reads it', async () => {
    const before = Date.now();
    const message = await send(ben, space, 'It’s 80 % hydration, isn’t it?');
    expect(message).toEqual({
      message_id: expect.any(String),
      space_id: space.space_id,
      author: {
        ...{ user_id: ben.userId, username: 'ben' },
        profile_picture: `${app.url}/avatars/default.webp`,
      },
      text: 'It’s 80 % hydration, isn’t it?',
      word_count: 5,
      appreciation_count: 0,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
    expect(Date.parse(message.created_at)).toBeGreaterThanOrEqual(before);
    for (const reader of [ann, ben, carl, stranger]) expect(await list(reader)).toEqual([message]);
  });

  test.each([
    ['line breaks, tabs and blanks', ' one\r\n\ttwo\n\n three '],
    ['JSON and SQL', `{"a":1} [1,2] '; DROP TABLE messages; --`],
    ['2,000 code points', '🫖'.repeat(2000)],
    ['a single emoji', '👩🏾‍💻'],
    ['text from right to left', 'مرحبا بكم'],
    ['the characters next to those that are refused', '\uFFFD\u{10FFFF}\u00A0x'],
  ])('keeps %s as they were written', async (_, text) => {
    expect((await send(ann, space, text)).text).toBe(text);
    expect(texts(await list(stranger))).toEqual([text]);
  });

  test.each([
    ['an empty text', ''],
    ['a blank text', ' \n\t\u2003'],
    ['an invisible text', '\u200B\u2060'],
    ['a control character', 'bell \x07'],
    ['an escape sequence', '\x1B[31mred'],
    ['2,001 code points', 'a'.repeat(2001)],
  ])('refuses %s', async (_, text) => {
    const body = { space_id: space.space_id, text };
    const { error, response } = await api.sendMessage({ client: ben.client, body });
    expect(response?.status).toBe(400);
    expect(error).toMatchObject({ code: 'invalid_request', errors: [{ pointer: '/text' }] });
    expect(await list(ben)).toEqual([]);
  });

  test('is for those who take part, as long as they do', async () => {
    const body = { space_id: space.space_id, text: 'hello' };
    const trial = (user: TestUser) => refusal(api.sendMessage({ client: user.client, body }));
    expect(await trial(carl)).toBe('403 not_a_participant');
    await leave(ben);
    expect(await trial(ben)).toBe('403 not_a_participant');
    expect(await list(ann)).toEqual([]);
    await join(ben, space);
    await send(ben, space, 'hello');
    expect(texts(await list(ann))).toEqual(['hello']);
  });

  test('needs a space that is there and an identifier that can be one', async () => {
    const trial = (space_id: string) =>
      refusal(api.sendMessage({ client: ann.client, body: { space_id, text: 'hello' } }));
    expect(await trial('no-space')).toBe('404 space_not_found');
    expect(await trial('no space')).toBe('400 invalid_request');
    expect(await trial('a'.repeat(65))).toBe('400 invalid_request');
  });
});

describe('The messages of a space', () => {
  test('come newest first, those of one millisecond in the order of their arrival', async () => {
    const sent: string[] = [];
    for (const i of Array(30).keys()) sent.unshift((await send(ann, space, `No. ${i}`)).text);
    const query = { space_id: space.space_id, limit: 100 };
    const { data } = await api.listMessages({ client: stranger.client, query, throwOnError: true });
    expect(texts(data)).toEqual(sent);
  });

  test('are those of that space alone', async () => {
    const other = await createSpace(ann);
    await send(ann, other, 'there');
    await send(ann, space, 'here');
    expect(texts(await list(ann))).toEqual(['here']);
  });

  describe('in pages', () => {
    const sent = Array.from({ length: 11 }, (_, i) => `No. ${11 - i}`);
    let long: Space;
    let path: string;
    beforeAll(async () => {
      long = await createSpace(ann);
      path = `/api/messages?space_id=${long.space_id}`;
      for (const text of sent.toReversed()) await send(ann, long, text);
      // As if the middle ones had been sent in one millisecond.
      await app.context.engine.db
        .updateTable('messages')
        .set({ created_at: (await list(ann, long))[2]?.created_at as string })
        .where('text', 'in', sent.slice(2, 9))
        .execute();
    });

    test.each([1, 2, 3, 4, 5, 10, 11, 12])('of %i are the same', async (limit) => {
      const pages = await readPages<Message>(app, `${path}&limit=${limit}`);
      expect(pages.flatMap(texts)).toEqual(sent);
      expect(pages).toHaveLength(Math.ceil(sent.length / limit));
    });

    test('neither repeat nor miss any while others are sent and deleted', async () => {
      const first = await app.fetch(`${path}&limit=4`);
      const page = (await first.json()) as Message[];
      const added = await send(ann, long, 'in between');
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

    test.each([
      ...['x', 'W10', 'bnVsbA', 'WzEsMiwiIl0', 'WzFd', 'WyJcdTAwMDAiLDFd', 'a b', '🫖'],
      'WyIyMDI2LTAxLTAxVDAwOjAwOjAwLjAwMFoiLDEuNV0',
      'WyIyMDI2LTAxLTAxVDAwOjAwOjAwLjAwMFoiLCIxIl0',
      'WyIyMDI2LTAxLTAxVDAwOjAwOjAwLjAwMFoiLDFd=',
    ])('do not begin at %j', async (cursor) => {
      const query = { space_id: long.space_id, cursor };
      const call = api.listMessages({ client: stranger.client, query });
      expect(await refusal(call)).toBe('400 invalid_cursor');
    });
  });

  test.each(['', '?space_id=', '?space_id=no%20id', '?space_id=a&space_id=b', '?space_id[]=a'])(
    'are not listed for %j',
    async (query) => {
      const response = await app.fetch(`/api/messages${query}`);
      expect(response.status).toBe(400);
      const { errors } = (await response.json()) as Problem;
      expect(new Set(errors.map(({ pointer }) => pointer))).toEqual(new Set(['?space_id']));
    },
  );

  test.each(['0', '101', '-1', '1.5', 'many', ''])('are not listed %j at a time', async (limit) => {
    const response = await app.fetch(`/api/messages?space_id=${space.space_id}&limit=${limit}`);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ errors: [{ pointer: '?limit' }] });
  });

  test('are read like their space: by anyone, or by those who take part', async () => {
    await send(ben, space, 'hello');
    for (const reader of [ann, ben, carl, stranger]) expect(await list(reader)).toHaveLength(1);
    await makePrivate();
    for (const reader of [ann, ben]) expect(await list(reader)).toHaveLength(1);
    await leave(ben);
    for (const { client } of [ben, carl, stranger]) {
      const query = { space_id: space.space_id };
      expect(await refusal(api.listMessages({ client, query }))).toBe('404 space_not_found');
    }
  });

  test('are not read with a bad token, though none is needed', async () => {
    const query = { space_id: space.space_id };
    const call = api.listMessages({ client: app.client('not-a-token'), query });
    expect(await refusal(call)).toBe('401 unauthenticated');
  });

  test('show their author’s new name and avatar at once', async () => {
    const author = await app.register('zoe');
    await join(author, space);
    const message = await send(author, space, 'hello');
    const { data } = await api.changeProfilePicture({
      client: author.client,
      body: { avatar: await avatarFile() },
      throwOnError: true,
    });
    await api.changeUsername({ client: author.client, body: { username: 'Zoë.2' } });
    const changed = {
      ...message,
      author: {
        ...{ user_id: author.userId, username: 'Zoë.2' },
        profile_picture: data.profile_picture,
      },
    };
    expect(data.profile_picture).not.toBe(message.author.profile_picture);
    expect(await list(stranger)).toEqual([changed]);
    expect(await appreciate(ann, message)).toEqual({ ...changed, appreciation_count: 1 });
  });
});

describe('Deleting a message', () => {
  const remove = ({ client }: Reader, { message_id }: Message) =>
    api.deleteMessage({ client, path: { message_id } });

  test('takes it and its appreciations away for everyone', async () => {
    const message = await send(ben, space, 'Nobody should have read this.');
    const other = await send(ben, space, 'This may stay.');
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
      expect(await refusal(call)).toBe('404 message_not_found');
    }
    const { data } = await api.getProfile({ client: ben.client, throwOnError: true });
    expect(data.stats).toMatchObject({ total_appreciations_received: 0 });
  });

  test('is for its author alone, and not for the space’s creator', async () => {
    const message = await send(ben, space, 'hello');
    for (const user of [ann, carl]) {
      expect(await refusal(remove(user, message))).toBe('403 not_message_author');
    }
    expect(await refusal(remove(stranger, message))).toBe('401 unauthenticated');
    expect(await list(ann)).toEqual([message]);
  });

  test('is possible after leaving, also when the space has become private', async () => {
    const [first, second] = [await send(ben, space, 'one'), await send(ben, space, 'two')];
    await leave(ben);
    expect((await remove(ben, first)).response?.status).toBe(200);
    await makePrivate();
    expect((await remove(ben, second)).response?.status).toBe(200);
    expect(await list(ann)).toEqual([]);
  });
});

describe('An appreciation', () => {
  let message: Message;
  beforeEach(async () => {
    message = await send(ben, space, 'hello');
  });

  test('counts one for each user, whether or not they take part', async () => {
    expect(await appreciate(ann, message)).toEqual({ ...message, appreciation_count: 1 });
    expect(await appreciate(carl, message)).toEqual({ ...message, appreciation_count: 2 });
    expect(await list(stranger)).toEqual([{ ...message, appreciation_count: 2 }]);
  });

  test('given again changes nothing, also at the same time', async () => {
    await appreciate(ann, message);
    await Promise.all(Array.from({ length: 12 }, () => appreciate(carl, message)));
    expect((await appreciate(ann, message)).appreciation_count).toBe(2);
  });

  test('can be withdrawn, once, and given anew', async () => {
    await appreciate(ann, message);
    await appreciate(carl, message);
    expect(await withdraw(carl, message)).toEqual({ ...message, appreciation_count: 1 });
    expect(await withdraw(carl, message)).toEqual({ ...message, appreciation_count: 1 });
    expect((await appreciate(carl, message)).appreciation_count).toBe(2);
  });

  test('that was never given can be withdrawn: nothing changes', async () => {
    await appreciate(ann, message);
    expect(await withdraw(carl, message)).toEqual({ ...message, appreciation_count: 1 });
    expect(await withdraw(ben, message)).toEqual({ ...message, appreciation_count: 1 });
  });

  test('is for other people’s messages', async () => {
    const path = { message_id: message.message_id };
    const call = api.appreciateMessage({ client: ben.client, path });
    expect(await refusal(call)).toBe('403 own_message');
    expect(await list(ben)).toEqual([message]);
  });

  test('is for those who can read the message', async () => {
    await appreciate(carl, message);
    await makePrivate();
    const path = { message_id: message.message_id };
    const { client } = carl;
    expect(await refusal(api.appreciateMessage({ client, path }))).toBe('404 message_not_found');
    expect(await refusal(api.withdrawAppreciation({ client, path }))).toBe('404 message_not_found');
    expect(await list(ann)).toEqual([{ ...message, appreciation_count: 1 }]);
  });

  test('is of one message, not of its neighbours', async () => {
    const other = await send(ben, space, 'hello again');
    await appreciate(ann, other);
    expect(await list(ann)).toEqual([{ ...other, appreciation_count: 1 }, message]);
    await withdraw(ann, message);
    expect(await list(ann)).toEqual([{ ...other, appreciation_count: 1 }, message]);
  });
});

test.each([
  ['no-message', '404 message_not_found'],
  ['a'.repeat(64), '404 message_not_found'],
  ['a'.repeat(65), '400 invalid_request'],
  ['no id', '400 invalid_request'],
  ['%', '400 invalid_request'],
])('The message %j is answered with %s', async (id, expected) => {
  const { client } = ann;
  const path = { message_id: id };
  for (const call of [
    api.deleteMessage({ client, path }),
    api.appreciateMessage({ client, path }),
    api.withdrawAppreciation({ client, path }),
  ]) {
    expect(await refusal(call)).toBe(expected);
  }
});

test('Strangers send, delete and appreciate nothing', async () => {
  const message = await send(ben, space, 'hello');
  const { client } = stranger;
  const path = { message_id: message.message_id };
  for (const call of [
    api.sendMessage({ client, body: { space_id: space.space_id, text: 'spam' } }),
    api.deleteMessage({ client, path }),
    api.appreciateMessage({ client, path }),
    api.withdrawAppreciation({ client, path }),
  ]) {
    expect(await refusal(call)).toBe('401 unauthenticated');
  }
  expect(await list(stranger)).toEqual([message]);
});
