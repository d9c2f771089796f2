import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import { setPassword } from '../../server/auth/password-reset.ts';
import { verifyAccount } from '../../server/auth/verification.ts';
import { transact } from '../../server/database/transaction.ts';
import { startApp, type TestApp, type TestUser } from '../support/app.ts';
import { avatarFile } from '../support/avatar.ts';
import { retryWhileUnavailable } from '../support/retry.ts';
import { createSpace, joinSpace, leaveSpace, sendMessage } from '../support/spaces.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app[Symbol.asyncDispose]());

const getProfile = async ({ client }: Pick<TestUser, 'client'>) =>
  (await api.getProfile({ client, throwOnError: true })).data;

const getProfileStatus = async (token: string | undefined) =>
  (await api.getProfile({ client: app.client(token) })).response?.status;

const login = ({ email }: TestUser, password: string) =>
  api.login({ client: app.client(), body: { email, password } });

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

  test('does not share the email address or the statistics with other users', async () => {
    const other = await app.register('walter');
    const path = { user_id: user.userId };
    const { data } = await api.getUser({ client: other.client, path });
    expect(Object.keys(data ?? {}).sort()).toEqual(
      ['bio', 'created_at', 'profile_picture', 'user_id', 'username'].sort(),
    );
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
    const byText = await api.searchSpaces({ client, query: { q: 'renaming of things' } });
    expect(byText.data).toMatchObject([{ creator }]);
    const byTag = await api.searchSpacesByTag({ client, path: { tag: 'renaming' } });
    expect(byTag.data).toMatchObject([{ creator }]);
    const messages = await api.listMessages({ client, query: { space_id } });
    expect(messages.data).toMatchObject([{ author: creator }]);
  });

  test.each([
    ['the same characters', 'alice'],
    ['capital letters', 'AlIcE'],
    ['full-width letters', 'ａｌｉｃｅ'],
    ['mathematical letters', '𝒶𝓁𝒾𝒸ℯ'],
    ['a capital I instead of l', 'aIice'],
    ['a Cyrillic а, which is invalid in other usernames', 'аlice'],
    ['an invisible character, which is invalid in other usernames', 'ali\u200bce'],
  ])('rejects a username that is already taken, written with %s', async (_, username) => {
    const { error } = await change(username);
    expect(error).toMatchObject({
      status: 409,
      code: 'username_taken',
      errors: [{ pointer: '/username' }],
    });
  });

  test('rejects a username that is confusable with a taken one', async () => {
    expect((await change('modern')).error).toMatchObject({ status: 409, code: 'username_taken' });
  });

  test.each(['me', 'ADMIN', 'rооt', 'space-service'])(
    'rejects the reserved username %s',
    async (username) => {
      expect((await change(username)).error).toMatchObject({
        status: 409,
        code: 'username_reserved',
      });
    },
  );

  test.each([
    ['two scripts', 'bоb'],
    ['two spaces', 'a  b'],
    ['a leading space', ' ab'],
    ['a line break', 'a\nb'],
    ['an at sign', 'a@b'],
    ['an emoji', 'a🙂'],
    ['markup', '<b>a</b>'],
  ])('rejects a username with %s', async (_, username) => {
    const { error } = await change(username);
    expect(error).toMatchObject({
      status: 400,
      code: 'username_invalid',
      errors: [{ pointer: '/username' }],
    });
  });

  test.each(['', 'a', 'a'.repeat(65)])(
    'rejects a username that is too short or too long: %j',
    async (username) => {
      const { error } = await change(username);
      expect(error).toMatchObject({ status: 400, errors: [{ pointer: '/username' }] });
    },
  );

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
    const users = await Promise.all(Array.from({ length: 12 }, () => app.register()));
    const spellings = ['popular', 'POPULAR', 'ｐｏｐｕｌａｒ', 'popu1ar'];
    // Holds the write lock, so that every request checks the username before the first one changes it.
    const [responses] = await Promise.all([
      Promise.all(users.map((each, i) => change(spellings[i % spellings.length] ?? '', each))),
      transact(app.context.engine, () => sleep(150)),
    ]);
    const rejected = responses.filter(({ response }) => response?.status !== 200);
    expect(rejected).toHaveLength(11);
    for (const { error } of rejected) {
      expect(error).toMatchObject({ status: 409, code: 'username_taken' });
    }
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

  test.each([
    ['501 graphemes', 'é'.repeat(501)],
    ['more than 2,000 code points', 'a\u0308\u0323\u0331\u0330'.repeat(401)],
    ['a control character', 'ding\u0007'],
  ])('rejects %s and keeps the bio', async (_, bio) => {
    await change('Still here.');
    const { error } = await change(bio);
    expect(error).toMatchObject({ status: 400, errors: [{ pointer: '/bio' }] });
    expect((await getProfile(user)).bio).toBe('Still here.');
  });
});

describe('changePassword', () => {
  let user: TestUser;
  const newPassword = 'staple of the north wind';
  const change = (
    { client, password }: TestUser,
    body: { currentPassword?: string; newPassword?: string } = {},
  ) => api.changePassword({ client, body: { currentPassword: password, newPassword, ...body } });

  beforeEach(async () => {
    user = await app.register();
  });

  test('replaces the old password with the new one', async () => {
    const { data, response } = await change(user);
    expect(response?.status).toBe(200);
    expect(data).toEqual({
      message: 'Your password has been changed, and every other session has ended.',
    });
    expect((await login(user, user.password)).response?.status).toBe(401);
    expect((await login(user, newPassword)).response?.status).toBe(200);
  });

  test('ends every other session of the account and keeps the caller’s', async () => {
    const others = await Promise.all([1, 2].map(() => login(user, user.password)));
    const stranger = await app.register();
    await change(user);
    for (const { data } of others) expect(await getProfileStatus(data?.access_token)).toBe(401);
    expect(await getProfileStatus(user.token)).toBe(200);
    expect(await getProfileStatus(stranger.token)).toBe(200);
  });

  test('rejects a wrong current password and changes nothing', async () => {
    const other = await login(user, user.password);
    for (const currentPassword of ['not the right one', `${user.password} `, newPassword]) {
      const { error } = await change(user, { currentPassword });
      expect(error).toMatchObject({
        status: 403,
        code: 'current_password_incorrect',
        errors: [{ pointer: '/currentPassword' }],
      });
    }
    expect(await getProfileStatus(other.data?.access_token)).toBe(200);
    expect((await login(user, newPassword)).response?.status).toBe(401);
    expect((await login(user, user.password)).response?.status).toBe(200);
  });

  test.each<[string, string | ((user: TestUser) => string), string]>([
    ['of 7 characters', '7 chars', 'invalid_request'],
    ['of 8 characters that NFC composes to 7', '7 char\u0065\u0301', 'password_invalid'],
    ['of 257 characters', 'x'.repeat(257), 'invalid_request'],
    ['that is common', 'Football1', 'password_too_common'],
    ['that is the email address', ({ email }) => email.toUpperCase(), 'password_names_you'],
  ])('rejects a new password %s, even if the current one is wrong', async (_, invalid, code) => {
    const password = typeof invalid === 'string' ? invalid : invalid(user);
    for (const currentPassword of [user.password, 'not the right one']) {
      const { error } = await change(user, { currentPassword, newPassword: password });
      expect(error).toMatchObject({ status: 400, code, errors: [{ pointer: '/newPassword' }] });
    }
    expect((await login(user, user.password)).response?.status).toBe(200);
  });

  test('rejects a new password that is the username', async () => {
    const gertrude = await app.register('gertrude.s');
    const { error } = await change(gertrude, { newPassword: 'Gertrude.S' });
    expect(error).toMatchObject({
      status: 400,
      code: 'password_names_you',
      errors: [{ pointer: '/newPassword' }],
    });
  });

  test('accepts new passwords of 8 and of 256 characters', async () => {
    for (const password of ['8 charac', '🗝'.repeat(256)]) {
      const newUser = await app.register();
      expect((await change(newUser, { newPassword: password })).response?.status).toBe(200);
      expect((await login(newUser, password)).response?.status).toBe(200);
    }
  });

  test('accepts one of twenty concurrent requests', async () => {
    const passwords = Array.from({ length: 20 }, (_, i) => `new password ${i}`);
    // On a busy machine, requests wait too long for password hashing. They have changed nothing.
    const responses = await Promise.all(
      passwords.map((newPassword) => retryWhileUnavailable(() => change(user, { newPassword }))),
    );
    const statuses = responses.map(({ response }) => response?.status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(statuses.filter((status) => status === 403)).toHaveLength(19);
    const accepted = passwords[statuses.indexOf(200)] ?? '';
    expect((await login(user, accepted)).response?.status).toBe(200);
  });

  test('leaves no session from logins that verified the old password concurrently', async () => {
    const logins = Array.from({ length: 12 }, async (_, i) => {
      await sleep(i * 8);
      return login(user, user.password);
    });
    await sleep(20);
    const { response } = await change(user);
    expect(response?.status).toBe(200);
    const responses = await Promise.all(logins);
    for (const { data } of responses) {
      if (data) expect(await getProfileStatus(data.access_token)).toBe(401);
    }
    expect((await login(user, user.password)).response?.status).toBe(401);
    const sessions = app.context.engine.db
      .selectFrom('sessions')
      .innerJoin('users', 'users.pk', 'sessions.user_pk')
      .select('sessions.pk')
      .where('users.user_id', '=', user.userId);
    expect(await sessions.execute()).toHaveLength(1);
  });
});

describe('setPassword', () => {
  test('ends every session of the account', async () => {
    const user = await app.register();
    const newPassword = 'staple of the north wind';
    const other = await login(user, user.password);
    expect(await setPassword(app.context.engine, user.email, newPassword)).toBe(true);
    for (const token of [user.token, other.data?.access_token]) {
      expect(await getProfileStatus(token)).toBe(401);
    }
    expect((await login(user, newPassword)).response?.status).toBe(200);
  });
});
