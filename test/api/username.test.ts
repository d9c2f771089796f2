import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import { transactAlone } from '../../server/database/transaction.ts';
import type { TestUser } from '../support/client.ts';
import { createSpace, sendMessage } from '../support/spaces.ts';
import { useApp } from '../support/use-app.ts';

const app = useApp();

const getProfile = async ({ client }: Pick<TestUser, 'client'>) =>
  (await api.getProfile({ client, throwOnError: true })).data;

describe('changeUsername', () => {
  let user: TestUser;
  const change = (username: string, { client }: TestUser = user) =>
    api.changeUsername({ client, body: { username } });
  beforeAll(async () => {
    user = await app.register('Emil');
    await app.register('alice');
    await app.register('modem');
  });

  test('changes the username in every response immediately', async () => {
    const { space_id } = await createSpace(user, {
      title: 'Renaming of things',
      tags: ['renaming'],
    });
    await sendMessage(user, { space_id }, 'Hello');
    const { data, response } = await change('émile zola');
    expect(response?.status).toBe(200);
    expect(data).toEqual({ message: 'Your username is now émile zola.' });

    const client = app.client();
    const creator = { user_id: user.userId, username: 'émile zola' };
    expect(await getProfile(user)).toMatchObject(creator);
    const path = { user_id: user.userId };
    expect((await api.getUser({ client: user.client, path })).data).toMatchObject(creator);
    expect((await api.getSpace({ client, path: { space_id } })).data).toMatchObject({ creator });
    const participations = await api.listParticipations({ client: user.client });
    expect(participations.data?.items).toMatchObject([{ space: { creator } }]);
    const byText = await api.searchSpaces({ client, query: { q: 'renaming of things' } });
    expect(byText.data).toMatchObject([{ creator }]);
    const byTag = await api.searchSpacesByTag({ client, path: { tag: 'renaming' } });
    expect(byTag.data).toMatchObject([{ creator }]);
    const messages = await api.listMessages({ client, query: { space_id } });
    expect(messages.data?.items).toMatchObject([{ author: creator }]);
  });

  test.each([
    ['another spelling', 'modern'],
    ['a Cyrillic а, as taken rather than invalid', 'аlice'],
    ['an invisible character, as taken rather than invalid', 'ali\u200bce'],
  ])('rejects a username that is confusable with a taken one: %s', async (_, username) => {
    expect((await change(username)).error).toMatchObject({ status: 409, code: 'username_taken' });
  });

  test.each(['田中さん', 'प्रिया', 'Дарья', 'يوسف', 'o.k_-9', 'ab', '𠀀𠀁', 'é'.repeat(64)])(
    'accepts %s',
    async (username) => {
      expect((await change(username)).response?.status).toBe(200);
      expect((await getProfile(user)).username).toBe(username);
    },
  );

  test('accepts the caller’s own username in any capitalisation or confusable spelling', async () => {
    const owner = await app.register('corner');
    for (const username of ['corner', 'Corner', 'CORNER', 'comer', 'corner']) {
      expect((await change(username, owner)).response?.status).toBe(200);
      expect((await getProfile(owner)).username).toBe(username);
    }
  });

  test('makes the old username available to others', async () => {
    await change('before');
    expect((await change('before', await app.register())).error).toMatchObject({ status: 409 });
    await change('afterwards');
    expect((await change('before', await app.register())).response?.status).toBe(200);
  });

  test('accepts one of twelve concurrent requests for confusable usernames', async () => {
    // One by one, because passwords of many concurrent registrations wait too long on a busy machine.
    const users: TestUser[] = [];
    for (let i = 0; i < 12; i += 1) users.push(await app.register());
    const spellings = ['popular', 'POPULAR', 'ｐｏｐｕｌａｒ', 'popu1ar'];
    // Holds the write lock, so that every request checks the username before the first one changes it.
    const [responses] = await Promise.all([
      Promise.all(users.map((each, i) => change(spellings[i % spellings.length] ?? '', each))),
      transactAlone(app.context.engine, () => sleep(150)),
    ]);
    const rejected = responses.filter(({ response }) => response?.status !== 200);
    expect(rejected).toHaveLength(11);
    for (const { error } of rejected) {
      expect(error).toMatchObject({ status: 409, code: 'username_taken' });
    }
  });
});
