import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import { setPassword } from '../../server/auth/password-reset.ts';
import { verifyAccount } from '../../server/auth/verification.ts';
import { transact } from '../../server/database/transaction.ts';
import { startApp, type TestApp, type TestUser } from '../support/app.ts';
import { avatarFile } from '../support/avatar.ts';
import { createSpace, join, send } from '../support/spaces.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app[Symbol.asyncDispose]());

const profileOf = async ({ client }: Pick<TestUser, 'client'>) =>
  (await api.getProfile({ client, throwOnError: true })).data;

const appreciate = ({ client }: TestUser, path: { message_id: string }) =>
  api.appreciateMessage({ client, path, throwOnError: true });

describe('The profile', () => {
  let user: TestUser;
  beforeAll(async () => {
    user = await app.register('vera');
  });

  test('is its owner’s, by whichever session', async () => {
    const { email, password } = user;
    const { data } = await api.login({ client: app.client(), body: { email, password } });
    const profile = await profileOf(user);
    expect(profile).toMatchObject({ user_id: user.userId, username: 'vera', email });
    expect(await profileOf({ client: app.client(data?.access_token) })).toEqual(profile);
  });

  test('says when the operator has verified the account', async () => {
    expect((await profileOf(user)).is_verified).toBe(false);
    expect(await verifyAccount(app.context.engine, user.email)).toBe(true);
    expect((await profileOf(user)).is_verified).toBe(true);
  });

  test('shows others neither the address nor the statistics', async () => {
    const other = await app.register('walter');
    const path = { user_id: user.userId };
    const { data } = await api.getUser({ client: other.client, path });
    expect(Object.keys(data ?? {}).sort()).toEqual(
      ['bio', 'created_at', 'profile_picture', 'user_id', 'username'].sort(),
    );
  });

  test('begins with one moment of creation and change, in UTC', async () => {
    const before = Date.now();
    const profile = await profileOf(await app.register());
    expect(profile.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(Date.parse(profile.created_at)).toBeGreaterThanOrEqual(before);
    expect(Date.parse(profile.created_at)).toBeLessThanOrEqual(Date.now());
    expect(profile.updated_at).toBe(profile.created_at);
  });
});

describe('The statistics', () => {
  const none = {
    spaces_created: 0,
    spaces_participated: 0,
    total_words_contributed: 0,
    total_appreciations_received: 0,
  };
  const statsOf = async (user: TestUser) => (await profileOf(user)).stats;
  let ann: TestUser;
  let ben: TestUser;
  beforeEach(async () => {
    ann = await app.register();
    ben = await app.register();
  });

  test('count the spaces that the user created, private ones too, while they exist', async () => {
    const space = await createSpace(ann);
    await createSpace(ann, { visibility: 'private' });
    await join(ben, space);
    expect(await statsOf(ann)).toEqual({ ...none, spaces_created: 2 });
    expect(await statsOf(ben)).toEqual(none);
    await api.deleteSpace({ client: ann.client, path: space, throwOnError: true });
    expect(await statsOf(ann)).toEqual({ ...none, spaces_created: 1 });
  });

  test('count each space once that the user joined and wrote in, also after leaving it', async () => {
    const [tea, coffee, water] = [
      await createSpace(ann),
      await createSpace(ann),
      await createSpace(ann),
    ];
    for (const space of [tea, coffee, water]) await join(ben, space);
    expect(await statsOf(ben)).toEqual(none);
    await send(ben, tea, 'one');
    await send(ben, tea, 'two');
    await send(ben, coffee, 'three');
    expect(await statsOf(ben)).toMatchObject({ spaces_participated: 2 });
    await api.leaveSpace({ client: ben.client, path: tea, throwOnError: true });
    expect(await statsOf(ben)).toMatchObject({ spaces_participated: 2 });
    await join(ben, tea);
    expect(await statsOf(ben)).toMatchObject({ spaces_participated: 2 });
    expect(await statsOf(ann)).toMatchObject({ spaces_participated: 0 });
  });

  test('add up the words of the user’s messages, as the messages count them', async () => {
    const space = await createSpace(ann);
    await join(ben, space);
    const sent = [
      await send(ben, space, 'It’s half past three, isn’t it?'),
      await send(ben, space, '— … !'),
      await send(ben, space, 'two\nlines'),
    ];
    await send(ann, space, 'not of his');
    expect(sent.map(({ word_count }) => word_count)).toEqual([6, 0, 2]);
    expect(await statsOf(ben)).toMatchObject({ total_words_contributed: 8 });
    const path = { message_id: sent[0]?.message_id ?? '' };
    await api.deleteMessage({ client: ben.client, path, throwOnError: true });
    expect(await statsOf(ben)).toMatchObject({ total_words_contributed: 2 });
  });

  test('count every appreciation of the user’s messages in all spaces, once a person', async () => {
    const [tea, coffee] = [await createSpace(ann), await createSpace(ann)];
    await join(ben, coffee);
    const [first, second] = [await send(ann, tea, 'hello'), await send(ann, coffee, 'good day')];
    const his = await send(ben, coffee, 'good evening');
    await appreciate(ben, first);
    await appreciate(ben, first);
    await appreciate(ben, second);
    await appreciate(await app.register(), first);
    await appreciate(ann, his);
    expect(await statsOf(ann)).toMatchObject({ total_appreciations_received: 3 });
    expect(await statsOf(ben)).toMatchObject({ total_appreciations_received: 1 });
    await api.withdrawAppreciation({ client: ben.client, path: first, throwOnError: true });
    expect(await statsOf(ann)).toMatchObject({ total_appreciations_received: 2 });
    await api.deleteMessage({ client: ann.client, path: first, throwOnError: true });
    expect(await statsOf(ann)).toMatchObject({ total_appreciations_received: 1 });
  });

  test('fall with a space that is deleted, for everyone who wrote in it', async () => {
    const space = await createSpace(ann);
    await join(ben, space);
    await appreciate(ann, await send(ben, space, 'three little words'));
    expect(await statsOf(ben)).toEqual({
      spaces_created: 0,
      spaces_participated: 1,
      total_words_contributed: 3,
      total_appreciations_received: 1,
    });
    await api.deleteSpace({ client: ann.client, path: space, throwOnError: true });
    expect(await statsOf(ben)).toEqual(none);
  });
});

describe('updated_at', () => {
  let user: TestUser;
  beforeAll(async () => {
    user = await app.register('dora');
  });
  const change = async (act: () => Promise<unknown>) => {
    const before = await profileOf(user);
    await sleep(2);
    await act();
    const after = await profileOf(user);
    expect(after.created_at).toBe(before.created_at);
    return after.updated_at > before.updated_at;
  };

  test('tells of a new username, bio and avatar', async () => {
    const { client } = user;
    const body = { avatar: await avatarFile() };
    expect(await change(() => api.changeUsername({ client, body: { username: 'dora.b' } }))).toBe(
      true,
    );
    expect(await change(() => api.changeBio({ client, body: { bio: 'Hello' } }))).toBe(true);
    expect(await change(() => api.changeProfilePicture({ client, body }))).toBe(true);
    expect(await change(() => api.removeProfilePicture({ client }))).toBe(true);
  });

  test('tells of nothing else', async () => {
    const { client, email, password } = user;
    const acts: (() => Promise<unknown>)[] = [
      () => api.login({ client, body: { email, password }, throwOnError: true }),
      () => createSpace(user).then((space) => send(user, space, 'Hello')),
      () =>
        api.changePassword({
          client,
          body: { currentPassword: password, newPassword: 'another horse' },
          throwOnError: true,
        }),
      () => api.removeProfilePicture({ client, throwOnError: true }),
      () => verifyAccount(app.context.engine, email),
    ];
    for (const act of acts) expect(await change(act), String(act)).toBe(false);
  });

  test('tells of nothing that was refused', async () => {
    const { client } = user;
    const body = { avatar: new Blob(['no avatar']) };
    expect(await change(() => api.changeUsername({ client, body: { username: 'admin' } }))).toBe(
      false,
    );
    expect(await change(() => api.changeBio({ client, body: { bio: '\u0007' } }))).toBe(false);
    expect(await change(() => api.changeProfilePicture({ client, body }))).toBe(false);
  });
});

describe('Changing the username', () => {
  let user: TestUser;
  const change = (username: string, { client }: TestUser = user) =>
    api.changeUsername({ client, body: { username } });
  beforeAll(async () => {
    user = await app.register('Emil');
    await app.register('alice');
    await app.register('modem');
  });

  test('shows the new name everywhere at once', async () => {
    const renaming = { title: 'Renaming of things', tags: ['renaming'] };
    const { space_id } = await createSpace(user, renaming);
    await send(user, { space_id }, 'Hello');
    const { data, response } = await change('émile zola');
    expect(response?.status).toBe(200);
    expect(data).toEqual({ message: 'Your username is now émile zola.' });

    const client = app.client();
    const creator = { user_id: user.userId, username: 'émile zola' };
    expect(await profileOf(user)).toMatchObject(creator);
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
    ['itself', 'alice'],
    ['other capitals', 'AlIcE'],
    ['full width', 'ａｌｉｃｅ'],
    ['letters of mathematics', '𝒶𝓁𝒾𝒸ℯ'],
    ['a capital I for its l', 'aIice'],
    ['a Cyrillic а, which would be bad in any other name', 'аlice'],
    ['an invisible character, likewise', 'ali\u200bce'],
  ])('refuses a name that is taken, written as %s', async (_, username) => {
    const { error } = await change(username);
    expect(error).toMatchObject({
      status: 409,
      code: 'username_taken',
      errors: [{ pointer: '/username' }],
    });
  });

  test('refuses a name that looks like one that is taken', async () => {
    expect((await change('modern')).error).toMatchObject({ status: 409, code: 'username_taken' });
  });

  test.each(['me', 'ADMIN', 'rооt', 'space-service'])(
    'refuses %s, which is reserved',
    async (name) => {
      expect((await change(name)).error).toMatchObject({ status: 409, code: 'username_reserved' });
    },
  );

  test.each([
    ['two scripts', 'bоb'],
    ['two spaces', 'a  b'],
    ['an outer space', ' ab'],
    ['a line break', 'a\nb'],
    ['an at sign', 'a@b'],
    ['an emoji', 'a🙂'],
    ['markup', '<b>a</b>'],
  ])('refuses a name with %s', async (_, username) => {
    const { error } = await change(username);
    expect(error).toMatchObject({
      status: 400,
      code: 'username_invalid',
      errors: [{ pointer: '/username' }],
    });
  });

  test.each(['', 'a', 'a'.repeat(65)])('refuses a name of no good length: %j', async (username) => {
    const { error } = await change(username);
    expect(error).toMatchObject({ status: 400, errors: [{ pointer: '/username' }] });
  });

  test.each(['田中さん', 'प्रिया', 'Дарья', 'يوسف', 'o.k_-9', 'ab', '𠀀𠀁', 'é'.repeat(64)])(
    'takes %s',
    async (username) => {
      expect((await change(username)).response?.status).toBe(200);
      expect((await profileOf(user)).username).toBe(username);
    },
  );

  test('takes one’s own name again, in other capitals, and in another form that looks like it', async () => {
    const owner = await app.register('corner');
    for (const username of ['corner', 'Corner', 'CORNER', 'comer', 'corner']) {
      expect((await change(username, owner)).response?.status).toBe(200);
      expect((await profileOf(owner)).username).toBe(username);
    }
  });

  test('leaves the old name to others', async () => {
    await change('before');
    expect((await change('before', await app.register())).error).toMatchObject({ status: 409 });
    await change('afterwards');
    expect((await change('before', await app.register())).response?.status).toBe(200);
  });

  test('gives a name to one of twelve who ask for it at once', async () => {
    const users = await Promise.all(Array.from({ length: 12 }, () => app.register()));
    const forms = ['popular', 'POPULAR', 'ｐｏｐｕｌａｒ', 'popu1ar'];
    // Until all of them have found it free, nobody can write.
    const [answers] = await Promise.all([
      Promise.all(users.map((each, i) => change(forms[i % forms.length] ?? '', each))),
      transact(app.context.engine.db, () => sleep(150)),
    ]);
    const refused = answers.filter(({ response }) => response?.status !== 200);
    expect(refused).toHaveLength(11);
    for (const { error } of refused) {
      expect(error).toMatchObject({ status: 409, code: 'username_taken' });
    }
  });
});

describe('Changing the bio', () => {
  let user: TestUser;
  const change = (bio: string) => api.changeBio({ client: user.client, body: { bio } });
  beforeAll(async () => {
    user = await app.register('frida');
  });

  test.each([
    ['a sentence', 'Paints herself.'],
    ['two lines', 'Paints.\nHerself.'],
    ['what looks like JSON', '[1,2]'],
    ['what looks like an object', '{"bio":null}'],
    ['markup, as it is', '<script>alert("1")</script> & so on'],
    ['500 characters, however many code points they are', '👩‍🎨'.repeat(500)],
    ['nothing', ''],
  ])('takes %s, and shows it to others', async (_, bio) => {
    const { data, response } = await change(bio);
    expect(response?.status).toBe(200);
    expect(data).toEqual({ message: 'Your bio has been changed.' });
    expect((await profileOf(user)).bio).toBe(bio);
    const path = { user_id: user.userId };
    expect((await api.getUser({ client: user.client, path })).data?.bio).toBe(bio);
  });

  test.each([
    ['501 characters', 'é'.repeat(501)],
    ['more than 2,000 code points', 'a\u0308\u0323\u0331\u0330'.repeat(401)],
    ['a control character', 'ding\u0007'],
  ])('refuses %s, and changes nothing', async (_, bio) => {
    await change('Still here.');
    const { error } = await change(bio);
    expect(error).toMatchObject({ status: 400, errors: [{ pointer: '/bio' }] });
    expect((await profileOf(user)).bio).toBe('Still here.');
  });
});

describe('Changing the password', () => {
  let user: TestUser;
  const newPassword = 'staple of the north wind';
  const change = (
    { client, password }: TestUser,
    body: { currentPassword?: string; newPassword?: string } = {},
  ) => api.changePassword({ client, body: { currentPassword: password, newPassword, ...body } });
  const signIn = ({ email }: TestUser, password: string) =>
    api.login({ client: app.client(), body: { email, password } });
  const statusOf = async (token: string | undefined) =>
    (await api.getProfile({ client: app.client(token) })).response?.status;

  beforeEach(async () => {
    user = await app.register();
  });

  test('ends every session when the operator does it', async () => {
    const other = await signIn(user, user.password);
    expect(await setPassword(app.context.engine, user.email, newPassword)).toBe(true);
    for (const token of [user.token, other.data?.access_token]) {
      expect(await statusOf(token)).toBe(401);
    }
    expect((await signIn(user, newPassword)).response?.status).toBe(200);
  });

  test('makes the new one good and the old one worthless', async () => {
    const { data, response } = await change(user);
    expect(response?.status).toBe(200);
    expect(data).toEqual({
      message: 'Your password has been changed, and every other session has ended.',
    });
    expect((await signIn(user, user.password)).response?.status).toBe(401);
    expect((await signIn(user, newPassword)).response?.status).toBe(200);
  });

  test('ends every other session, and neither the caller’s nor other people’s', async () => {
    const others = await Promise.all([1, 2].map(() => signIn(user, user.password)));
    const stranger = await app.register();
    await change(user);
    for (const { data } of others) expect(await statusOf(data?.access_token)).toBe(401);
    expect(await statusOf(user.token)).toBe(200);
    expect(await statusOf(stranger.token)).toBe(200);
  });

  test('needs the current one, and without it changes nothing', async () => {
    const other = await signIn(user, user.password);
    for (const currentPassword of ['not the right one', `${user.password} `, newPassword]) {
      const { error } = await change(user, { currentPassword });
      expect(error).toMatchObject({
        status: 403,
        code: 'current_password_incorrect',
        errors: [{ pointer: '/currentPassword' }],
      });
    }
    expect(await statusOf(other.data?.access_token)).toBe(200);
    expect((await signIn(user, newPassword)).response?.status).toBe(401);
    expect((await signIn(user, user.password)).response?.status).toBe(200);
  });

  test.each<[string, string | ((user: TestUser) => string), string]>([
    ['of 7 characters', '7 chars', 'invalid_request'],
    ['of 8 characters that are 7 once they are composed', '7 char\u0065\u0301', 'password_invalid'],
    ['of 257 characters', 'x'.repeat(257), 'invalid_request'],
    ['among the commonest', 'Football1', 'password_too_common'],
    ['that is the address', ({ email }) => email.toUpperCase(), 'password_names_you'],
  ])('refuses one %s, whether or not the current one is right', async (_, bad, code) => {
    const password = typeof bad === 'string' ? bad : bad(user);
    for (const currentPassword of [user.password, 'not the right one']) {
      const { error } = await change(user, { currentPassword, newPassword: password });
      expect(error).toMatchObject({ status: 400, code, errors: [{ pointer: '/newPassword' }] });
    }
    expect((await signIn(user, user.password)).response?.status).toBe(200);
  });

  test('refuses the username', async () => {
    const gertrude = await app.register('gertrude.s');
    const { error } = await change(gertrude, { newPassword: 'Gertrude.S' });
    expect(error).toMatchObject({
      status: 400,
      code: 'password_names_you',
      errors: [{ pointer: '/newPassword' }],
    });
  });

  test('takes 8 characters, and 256', async () => {
    for (const password of ['8 charac', '🗝'.repeat(256)]) {
      const fresh = await app.register();
      expect((await change(fresh, { newPassword: password })).response?.status).toBe(200);
      expect((await signIn(fresh, password)).response?.status).toBe(200);
    }
  });

  test('works for one of twenty who try at once', async () => {
    const passwords = Array.from({ length: 20 }, (_, i) => `new password ${i}`);
    const answers = await Promise.all(passwords.map((each) => change(user, { newPassword: each })));
    const statuses = answers.map(({ response }) => response?.status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(statuses.filter((status) => status === 403)).toHaveLength(19);
    const winner = passwords[statuses.indexOf(200)] ?? '';
    expect((await signIn(user, winner)).response?.status).toBe(200);
  });

  test('leaves no session to a login with the old one that was under way', async () => {
    const logins = Array.from({ length: 12 }, async (_, i) => {
      await sleep(i * 8);
      return signIn(user, user.password);
    });
    await sleep(20);
    const { response } = await change(user);
    expect(response?.status).toBe(200);
    const answers = await Promise.all(logins);
    for (const { data } of answers) {
      if (data) expect(await statusOf(data.access_token)).toBe(401);
    }
    expect((await signIn(user, user.password)).response?.status).toBe(401);
    const left = app.context.engine.db
      .selectFrom('sessions')
      .innerJoin('users', 'users.pk', 'sessions.user_pk')
      .select('sessions.pk')
      .where('users.user_id', '=', user.userId);
    expect(await left.execute()).toHaveLength(1);
  });
});
