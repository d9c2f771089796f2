import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import { verifyAccount } from '../../server/account-lifecycle/verification.ts';
import { avatarFile } from '../support/avatar.ts';
import type { TestUser } from '../support/client.ts';
import { createSpace, joinSpace, leaveSpace, sendMessage } from '../support/spaces.ts';
import { useApp } from '../support/use-app.ts';

const app = useApp();

const getProfile = async ({ client }: Pick<TestUser, 'client'>) =>
  (await api.getProfile({ client, throwOnError: true })).data;

const appreciate = ({ client }: TestUser, path: { message_id: string }) =>
  api.appreciateMessage({ client, path, throwOnError: true });

describe('getProfile', () => {
  let user: TestUser;
  beforeAll(async () => {
    user = await app.register('vera');
  });

  test('returns the caller’s profile to each of their sessions', async () => {
    const { email, password } = user;
    const { data } = await api.login({ client: app.client(), body: { email, password } });
    const profile = await getProfile(user);
    expect(profile).toMatchObject({ user_id: user.userId, username: 'vera', email });
    expect(await getProfile({ client: app.client(data?.access_token) })).toEqual(profile);
  });

  test('returns is_verified: true after the operator has verified the account', async () => {
    expect((await getProfile(user)).is_verified).toBe(false);
    expect(await verifyAccount(app.context.engine, user.email)).toBe(true);
    expect((await getProfile(user)).is_verified).toBe(true);
  });

  test('returns the same UTC timestamp for created_at and updated_at of a new account', async () => {
    const before = Date.now();
    const profile = await getProfile(await app.register());
    expect(profile.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(Date.parse(profile.created_at)).toBeGreaterThanOrEqual(before);
    expect(Date.parse(profile.created_at)).toBeLessThanOrEqual(Date.now());
    expect(profile.updated_at).toBe(profile.created_at);
  });
});

describe('stats', () => {
  const noStats = {
    spaces_created: 0,
    spaces_participated: 0,
    total_words_contributed: 0,
    total_appreciations_received: 0,
  };
  const getStats = async (user: TestUser) => (await getProfile(user)).stats;
  let ann: TestUser;
  let ben: TestUser;
  beforeEach(async () => {
    ann = await app.register();
    ben = await app.register();
  });

  test('count existing spaces that the user created, including private ones', async () => {
    const space = await createSpace(ann);
    await createSpace(ann, { visibility: 'private' });
    await joinSpace(ben, space);
    expect(await getStats(ann)).toEqual({ ...noStats, spaces_created: 2 });
    expect(await getStats(ben)).toEqual(noStats);
    await api.deleteSpace({ client: ann.client, path: space, throwOnError: true });
    expect(await getStats(ann)).toEqual({ ...noStats, spaces_created: 1 });
  });

  test('count each space with messages of the user once, even after leaving', async () => {
    const tea = await createSpace(ann);
    const coffee = await createSpace(ann);
    const water = await createSpace(ann);
    for (const space of [tea, coffee, water]) await joinSpace(ben, space);
    expect(await getStats(ben)).toEqual(noStats);
    await sendMessage(ben, tea, 'one');
    await sendMessage(ben, tea, 'two');
    await sendMessage(ben, coffee, 'three');
    expect(await getStats(ben)).toMatchObject({ spaces_participated: 2 });
    await leaveSpace(ben, tea);
    expect(await getStats(ben)).toMatchObject({ spaces_participated: 2 });
    await joinSpace(ben, tea);
    expect(await getStats(ben)).toMatchObject({ spaces_participated: 2 });
    expect(await getStats(ann)).toMatchObject({ spaces_participated: 0 });
  });

  test('add up the word counts of the user’s messages', async () => {
    const space = await createSpace(ann);
    await joinSpace(ben, space);
    const sent = [
      await sendMessage(ben, space, 'It’s half past three, isn’t it?'),
      await sendMessage(ben, space, '— … !'),
      await sendMessage(ben, space, 'two\nlines'),
    ];
    await sendMessage(ann, space, 'not of his');
    expect(sent.map(({ word_count }) => word_count)).toEqual([6, 0, 2]);
    expect(await getStats(ben)).toMatchObject({ total_words_contributed: 8 });
    const path = { message_id: sent[0]?.message_id ?? '' };
    await api.deleteMessage({ client: ben.client, path, throwOnError: true });
    expect(await getStats(ben)).toMatchObject({ total_words_contributed: 2 });
  });

  test('count appreciations of the user’s messages in all spaces, once per user and message', async () => {
    const tea = await createSpace(ann);
    const coffee = await createSpace(ann);
    await joinSpace(ben, coffee);
    const first = await sendMessage(ann, tea, 'hello');
    const second = await sendMessage(ann, coffee, 'good day');
    const bensMessage = await sendMessage(ben, coffee, 'good evening');
    await appreciate(ben, first);
    await appreciate(ben, first);
    await appreciate(ben, second);
    await appreciate(await app.register(), first);
    await appreciate(ann, bensMessage);
    expect(await getStats(ann)).toMatchObject({ total_appreciations_received: 3 });
    expect(await getStats(ben)).toMatchObject({ total_appreciations_received: 1 });
    await api.withdrawAppreciation({ client: ben.client, path: first, throwOnError: true });
    expect(await getStats(ann)).toMatchObject({ total_appreciations_received: 2 });
    await api.deleteMessage({ client: ann.client, path: first, throwOnError: true });
    expect(await getStats(ann)).toMatchObject({ total_appreciations_received: 1 });
  });

  test('exclude deleted spaces and their messages', async () => {
    const space = await createSpace(ann);
    await joinSpace(ben, space);
    await appreciate(ann, await sendMessage(ben, space, 'three little words'));
    expect(await getStats(ben)).toEqual({
      spaces_created: 0,
      spaces_participated: 1,
      total_words_contributed: 3,
      total_appreciations_received: 1,
    });
    await api.deleteSpace({ client: ann.client, path: space, throwOnError: true });
    expect(await getStats(ben)).toEqual(noStats);
  });
});

describe('updated_at', () => {
  let user: TestUser;
  beforeAll(async () => {
    user = await app.register('dora');
  });
  /** Returns whether the call changes `updated_at`. */
  const updatesProfile = async (call: () => Promise<unknown>) => {
    const before = await getProfile(user);
    await sleep(2);
    await call();
    const after = await getProfile(user);
    expect(after.created_at).toBe(before.created_at);
    return after.updated_at > before.updated_at;
  };

  test('changes with username, bio and avatar', async () => {
    const { client } = user;
    const body = { avatar: await avatarFile() };
    expect(
      await updatesProfile(() => api.changeUsername({ client, body: { username: 'dora.b' } })),
    ).toBe(true);
    expect(await updatesProfile(() => api.changeBio({ client, body: { bio: 'Hello' } }))).toBe(
      true,
    );
    expect(await updatesProfile(() => api.changeProfilePicture({ client, body }))).toBe(true);
    expect(await updatesProfile(() => api.removeProfilePicture({ client }))).toBe(true);
  });

  test('does not change with anything else', async () => {
    const { client, email, password } = user;
    const calls: (() => Promise<unknown>)[] = [
      () => api.login({ client, body: { email, password }, throwOnError: true }),
      () => createSpace(user).then((space) => sendMessage(user, space, 'Hello')),
      () =>
        api.changePassword({
          client,
          body: { currentPassword: password, newPassword: 'another horse' },
          throwOnError: true,
        }),
      () => api.removeProfilePicture({ client, throwOnError: true }),
      () => verifyAccount(app.context.engine, email),
    ];
    for (const call of calls) expect(await updatesProfile(call), String(call)).toBe(false);
  });

  test('does not change with a rejected request', async () => {
    const { client } = user;
    const body = { avatar: new Blob(['no avatar']) };
    expect(
      await updatesProfile(() => api.changeUsername({ client, body: { username: 'admin' } })),
    ).toBe(false);
    expect(await updatesProfile(() => api.changeBio({ client, body: { bio: '\u0007' } }))).toBe(
      false,
    );
    expect(await updatesProfile(() => api.changeProfilePicture({ client, body }))).toBe(false);
  });
});

describe('changeBio', () => {
  let user: TestUser;
  const change = (bio: string) => api.changeBio({ client: user.client, body: { bio } });
  beforeAll(async () => {
    user = await app.register('frida');
  });

  test.each([
    ['a sentence', 'Paints herself.'],
    ['two lines', 'Paints.\nHerself.'],
    ['a JSON array', '[1,2]'],
    ['a JSON object', '{"bio":null}'],
    ['markup', '<script>alert("1")</script> & so on'],
    ['500 graphemes of several code points each', '👩‍🎨'.repeat(500)],
    ['an empty bio', ''],
  ])('accepts %s and shows it to others unchanged', async (_, bio) => {
    const { data, response } = await change(bio);
    expect(response?.status).toBe(200);
    expect(data).toEqual({ message: 'Your bio has been changed.' });
    expect((await getProfile(user)).bio).toBe(bio);
    const path = { user_id: user.userId };
    expect((await api.getUser({ client: user.client, path })).data?.bio).toBe(bio);
  });
});
