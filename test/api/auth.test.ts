import { createHash } from 'node:crypto';
import { hash } from '@node-rs/argon2';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import type { Registration, SessionSummary } from '../../generated/types.gen.ts';
import { startApp, type TestApp, type TestUser } from '../support/app.ts';
import { readDataFolder } from '../support/data-files.ts';
import { readPages } from '../support/pages.ts';
import { retryWhileUnavailable } from '../support/retry.ts';
import { createSpace } from '../support/spaces.ts';

let app: TestApp;
let alice: TestUser;

beforeAll(async () => {
  app = await startApp();
  alice = await app.register('alice');
});
afterAll(() => app[Symbol.asyncDispose]());

const register = (registration: Partial<Registration>) =>
  api.register({
    client: app.client(),
    body: {
      username: 'somebody',
      email: 'somebody@example.com',
      password: 'a long and winding road',
      ...registration,
    },
  });

const login = (email: string, password: string) =>
  api.login({ client: app.client(), body: { email, password } });

/** Returns the access token of a new session. */
async function openSession({ email, password }: TestUser): Promise<string> {
  const body = { email, password };
  const { data } = await api.login({ client: app.client(), body, throwOnError: true });
  return data.access_token;
}

async function getProfileStatus(token: string): Promise<number | undefined> {
  const { response } = await api.getProfile({ client: app.client(token) });
  return response?.status;
}

describe('register', () => {
  test('creates an account and a session', async () => {
    const { data, response } = await register({ username: 'Zoë.K', email: 'Zoe@Example.COM' });
    expect(response?.status).toBe(201);
    expect(data).toMatchObject({ token_type: 'Bearer', expires_in: 30 * 24 * 60 * 60 });
    const profile = await api.getProfile({ client: app.client(data?.access_token) });
    expect(profile.data).toEqual({
      user_id: data?.user_id,
      username: 'Zoë.K',
      email: 'Zoe@Example.COM',
      bio: '',
      profile_picture: `${app.url}/avatars/default.webp`,
      is_verified: false,
      created_at: expect.any(String),
      updated_at: profile.data?.created_at,
      stats: {
        spaces_created: 0,
        spaces_participated: 0,
        total_words_contributed: 0,
        total_appreciations_received: 0,
      },
    });
  });

  test.each([
    ['the same characters', 'alice'],
    ['capital letters', 'ALICE'],
    ['full-width letters', 'ａｌｉｃｅ'],
    ['a digit instead of a letter', 'a1ice'],
    ['a Cyrillic letter', 'аlice'],
  ])('rejects a username that is already taken, written with %s', async (_, username) => {
    const { error } = await register({ username });
    expect(error).toMatchObject({
      status: 409,
      code: 'username_taken',
      errors: [{ pointer: '/username' }],
    });
  });

  test.each(['admin', 'Support', 'аdmin'])('rejects the reserved username %s', async (username) => {
    expect((await register({ username })).error).toMatchObject({
      status: 409,
      code: 'username_reserved',
      errors: [{ pointer: '/username' }],
    });
  });

  test('is rejected if registration is closed, whatever the request contains', async () => {
    await using closed = await startApp({ REGISTRATION: 'closed' });
    const { error, response } = await api.register({
      client: closed.client(),
      body: { username: 'admin', email: 'somebody@example.com', password: 'password' },
    });
    expect(response?.status).toBe(403);
    expect(error).toMatchObject({ code: 'registration_closed', errors: [] });
    expect(await closed.context.engine.db.selectFrom('users').select('pk').execute()).toEqual([]);
  });

  test('accepts an email address without a dot in its domain', async () => {
    const { data } = await register({ username: 'near', email: 'near@localhost' });
    const client = app.client(data?.access_token);
    const profile = await api.getProfile({ client, throwOnError: true });
    expect(profile.data.email).toBe('near@localhost');
  });

  test('rejects an email address that is already taken, in any capitalisation', async () => {
    const { error } = await register({ email: alice.email.toUpperCase() });
    expect(error).toMatchObject({
      status: 409,
      code: 'email_taken',
      errors: [{ pointer: '/email' }],
    });
  });

  test.each<[string, Partial<Registration>, string]>([
    ['a username in two scripts', { username: 'zеbra' }, 'username_invalid'],
    ['a username with a leading space', { username: ' zebra' }, 'username_invalid'],
    ['a username of one letter', { username: 'z' }, 'invalid_request'],
    ['a malformed email address', { email: 'somewhere' }, 'invalid_request'],
    [
      'an email address longer than 254 bytes',
      { email: `${'a'.repeat(250)}@b.co` },
      'invalid_request',
    ],
    ['a password of 7 characters', { password: '7 chars' }, 'invalid_request'],
    [
      'a password of 257 characters',
      { password: 'long '.repeat(51).padEnd(257) },
      'invalid_request',
    ],
    [
      'a password of 8 characters that NFC composes to 7',
      { password: '7 char\u0065\u0301' },
      'password_invalid',
    ],
    ['a common password', { password: 'Password1' }, 'password_too_common'],
    [
      'the username as the password',
      { username: 'zanzibar.k', password: 'Zanzibar.K' },
      'password_names_you',
    ],
    [
      'the email address as the password',
      { email: 'me@zanzibar.example', password: 'me@zanzibar.example' },
      'password_names_you',
    ],
  ])('rejects %s and points to the field', async (_, registration, code) => {
    const { error } = await register(registration);
    const field = Object.keys(registration).at(-1);
    expect(error).toMatchObject({ status: 400, code, errors: [{ pointer: `/${field}` }] });
  });

  test('keeps username and email address available after a rejected attempt', async () => {
    const username = 'undecided';
    const email = 'undecided@example.com';
    expect((await register({ username, email, password: 'password' })).error).toBeDefined();
    expect((await register({ username, email })).response?.status).toBe(201);
  });

  test('accepts one of fifty concurrent requests for confusable usernames', async () => {
    // Latin, Cyrillic and full width; each is a valid username by itself.
    const spellings = ['coco', 'Coco', 'COCO', 'сосо', 'ｃｏｃｏ'];
    const responses = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        // On a busy machine, some of so many passwords wait too long to be hashed.
        retryWhileUnavailable(() =>
          register({
            username: spellings[i % spellings.length] ?? '',
            email: `coco${i}@example.com`,
          }),
        ),
      ),
    );
    const rejected = responses.filter(({ response }) => response?.status !== 201);
    expect(rejected).toHaveLength(49);
    for (const { error } of rejected) {
      expect(error).toMatchObject({ status: 409, code: 'username_taken' });
    }
  });

  test('accepts one of ten concurrent requests for the same email address', async () => {
    const responses = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        retryWhileUnavailable(() =>
          register({ username: `many-${'abcdefghij'[i]}`, email: 'Many@example.com' }),
        ),
      ),
    );
    const rejected = responses.filter(({ response }) => response?.status !== 201);
    expect(rejected).toHaveLength(9);
    for (const { error } of rejected) {
      expect(error).toMatchObject({ status: 409, code: 'email_taken' });
    }
  });
});

describe('login', () => {
  test('rehashes the password if the stored hash uses weaker parameters', async () => {
    const { userId, email, password } = await app.register();
    const { db } = app.context.engine;
    const password_hash = await hash(password, { memoryCost: 8192, timeCost: 2, parallelism: 1 });
    await db.updateTable('users').set({ password_hash }).where('user_id', '=', userId).execute();
    expect((await login(email, password)).response?.status).toBe(200);
    const row = await db
      .selectFrom('users')
      .select('password_hash')
      .where('user_id', '=', userId)
      .executeTakeFirst();
    expect(row?.password_hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  });

  test('succeeds several times at once although the stored hash is replaced by one of them', async () => {
    const { userId, email, password } = await app.register();
    const { db } = app.context.engine;
    for (let round = 0; round < 3; round += 1) {
      const password_hash = await hash(password, { memoryCost: 64, timeCost: 1, parallelism: 1 });
      await db.updateTable('users').set({ password_hash }).where('user_id', '=', userId).execute();
      const results = await Promise.all(Array.from({ length: 3 }, () => login(email, password)));
      expect(results.map(({ response }) => response?.status)).toEqual([200, 200, 200]);
    }
  });

  test('and a password change succeed at once although the login replaces the stored hash', async () => {
    const { userId, email, password, client } = await app.register();
    const { db } = app.context.engine;
    let current = password;
    for (let round = 0; round < 3; round += 1) {
      const password_hash = await hash(current, { memoryCost: 64, timeCost: 1, parallelism: 1 });
      await db.updateTable('users').set({ password_hash }).where('user_id', '=', userId).execute();
      const newPassword = `marmalade on toast ${round}`;
      const [, change] = await Promise.all([
        login(email, current),
        api.changePassword({ client, body: { currentPassword: current, newPassword } }),
      ]);
      expect(change.response?.status).toBe(200);
      expect((await login(email, current)).response?.status).toBe(401);
      expect((await login(email, newPassword)).response?.status).toBe(200);
      current = newPassword;
    }
  });

  test('creates a session and keeps the other ones', async () => {
    const { data, response } = await login(alice.email.toUpperCase(), alice.password);
    expect(response?.status).toBe(200);
    expect(data).toMatchObject({
      user_id: alice.userId,
      token_type: 'Bearer',
      expires_in: 2_592_000,
    });
    expect(data?.access_token).not.toBe(alice.token);
    expect(await getProfileStatus(data?.access_token ?? '')).toBe(200);
    expect(await getProfileStatus(alice.token)).toBe(200);
  });

  test('accepts a password in another Unicode normalisation form', async () => {
    const password = 'crème brûlée';
    await register({
      username: 'cook',
      email: 'cook@example.com',
      password: password.normalize('NFD'),
    });
    const { response } = await login('cook@example.com', password.normalize('NFC'));
    expect(response?.status).toBe(200);
  });

  test('rejects passwords that differ by a space, by case or by one character', async () => {
    const { password } = alice;
    for (const similar of [`${password} `, password.toUpperCase(), password.slice(0, -1)]) {
      expect((await login(alice.email, similar)).response?.status).toBe(401);
    }
  });

  test('responds to an unknown email address exactly as to a wrong password', async () => {
    const wrong = await login(alice.email, 'not her password');
    const unknown = await login('nobody@example.com', 'not her password');
    expect(wrong.error).toMatchObject({ status: 401, code: 'credentials_incorrect', errors: [] });
    expect(unknown.error).toEqual({ ...wrong.error, request_id: expect.any(String) });
    const headerNames = ({ response }: { response?: Response }) => [
      ...(response?.headers.keys() ?? []),
    ];
    expect(headerNames(unknown)).toEqual(headerNames(wrong));
    expect(wrong.response?.headers.get('www-authenticate')).toBe('Bearer');
  });

  test('responds to an unknown email address as slowly as to a wrong password', async () => {
    const fastest = { wrong: Number.POSITIVE_INFINITY, unknown: Number.POSITIVE_INFINITY };
    const measure = async (kind: keyof typeof fastest, email: string) => {
      const start = performance.now();
      await login(email, 'not her password');
      fastest[kind] = Math.min(fastest[kind], performance.now() - start);
    };
    const isSimilar = () => Math.abs(Math.log(fastest.unknown / fastest.wrong)) < Math.log(1.5);
    // On a busy machine, the minimum of each kind needs several attempts to settle.
    for (let i = 0; i < 5 || (i < 30 && !isSimilar()); i += 1) {
      await measure('wrong', alice.email);
      await measure('unknown', 'nobody@example.com');
    }
    // Without the verification of a dummy hash, the response would take a tenth of the time.
    expect(isSimilar(), JSON.stringify(fastest)).toBe(true);
  });
});

describe('access tokens', () => {
  test('have 256 random bits and the prefix sps_', () => {
    expect(alice.token).toMatch(/^sps_[A-Za-z0-9_-]{43}$/);
  });

  test('are stored as a hash only', async () => {
    const row = await session(alice.token).selectAll().executeTakeFirstOrThrow();
    expect(row.token_hash).toBe(sha256(alice.token));
    for (const { name, content } of await readDataFolder(app.context.config.dataDir)) {
      expect(content.includes(alice.token), name).toBe(false);
    }
  });

  test.each(['Bearer', 'bearer', 'BEARER'])('are accepted after the scheme %s', async (scheme) => {
    const headers = { authorization: `${scheme} ${alice.token}` };
    expect((await app.fetch('/api/profile/me', { headers })).status).toBe(200);
  });

  test.each<[string, string, (token: string) => string | undefined]>([
    ['no header', 'Bearer', () => undefined],
    ['another scheme', 'Bearer', (token) => `Basic ${token}`],
    ['only the scheme', 'Bearer', () => 'Bearer'],
    ['a token without a scheme', 'Bearer', (token) => token],
    ['an unknown token', 'Bearer error="invalid_token"', () => `Bearer sps_${'A'.repeat(43)}`],
    [
      'half of the token',
      'Bearer error="invalid_token"',
      (token) => `Bearer ${token.slice(0, 20)}`,
    ],
    [
      'the token and one more letter',
      'Bearer error="invalid_token"',
      (token) => `Bearer ${token}A`,
    ],
    [
      'the token in capitals',
      'Bearer error="invalid_token"',
      (token) => `Bearer ${token.toUpperCase()}`,
    ],
    ['the token twice', 'Bearer error="invalid_token"', (token) => `Bearer ${token} ${token}`],
    ['the hash of the token', 'Bearer error="invalid_token"', (token) => `Bearer ${sha256(token)}`],
    ['the token in quotes', 'Bearer error="invalid_token"', (token) => `Bearer "${token}"`],
    ['SQL', 'Bearer error="invalid_token"', () => "Bearer ' OR 1=1 --"],
  ])('are required: %s gets 401 and WWW-Authenticate: %s', async (_, challenge, header) => {
    const authorization = header(alice.token);
    const response = await app.fetch(
      '/api/profile/me',
      authorization ? { headers: { authorization } } : {},
    );
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toBe(challenge);
    expect(await response.json()).toMatchObject({
      status: 401,
      code: 'unauthenticated',
      errors: [],
    });
  });

  test('are accepted in the Authorization header only', async () => {
    const { token } = alice;
    const inQuery = await app.fetch(`/api/profile/me?access_token=${token}`);
    expect(inQuery.status).toBe(401);
    const cookie = `access_token=${token}; token=${token}`;
    const inCookie = await app.fetch('/api/profile/me', { headers: { cookie } });
    expect(inCookie.status).toBe(401);
  });

  test('expire after 30 days without use, not earlier', async () => {
    const token = await openSession(alice);
    const other = await openSession(alice);
    await backdate(token, { createdDaysAgo: 31, usedDaysAgo: 30.001 });
    await backdate(other, { createdDaysAgo: 31, usedDaysAgo: 29.999 });
    expect(await getProfileStatus(token)).toBe(401);
    expect(await getProfileStatus(other)).toBe(200);
  });

  test('are extended when they are used', async () => {
    const token = await openSession(alice);
    await backdate(token, { createdDaysAgo: 40, usedDaysAgo: 29 });
    expect(await getProfileStatus(token)).toBe(200);
    const { last_used_at } = await session(token).selectAll().executeTakeFirstOrThrow();
    expect(Date.now() - Date.parse(last_used_at)).toBeLessThan(10_000);
  });

  test('expire after 90 days even if they are used', async () => {
    const token = await openSession(alice);
    const other = await openSession(alice);
    await backdate(token, { createdDaysAgo: 90.001, usedDaysAgo: 0 });
    await backdate(other, { createdDaysAgo: 89.999, usedDaysAgo: 0 });
    expect(await getProfileStatus(token)).toBe(401);
    expect(await getProfileStatus(other)).toBe(200);
  });

  test('are deleted after they have expired', async () => {
    const token = await openSession(alice);
    await backdate(token, { createdDaysAgo: 90.001, usedDaysAgo: 0 });
    await app.context.housekeeping.run();
    expect(await session(token).selectAll().executeTakeFirst()).toBeUndefined();
    expect(await getProfileStatus(alice.token)).toBe(200);
  });

  test('expire after SESSION_IDLE_DAYS or SESSION_MAX_DAYS', async () => {
    await using strict = await startApp({ SESSION_IDLE_DAYS: '2', SESSION_MAX_DAYS: '1' });
    const { data } = await api.register({
      client: strict.client(),
      body: { username: 'brief', email: 'brief@example.com', password: alice.password },
    });
    expect(data?.expires_in).toBe(24 * 60 * 60);
    const client = strict.client(data?.access_token);
    expect((await api.getProfile({ client })).response?.status).toBe(200);
    await strict.context.engine.db
      .updateTable('sessions')
      .set({ created_at: daysAgo(1.001) })
      .execute();
    expect((await api.getProfile({ client })).response?.status).toBe(401);
  });

  const session = (token: string) =>
    app.context.engine.db.selectFrom('sessions').where('token_hash', '=', sha256(token));

  async function backdate(
    token: string,
    { createdDaysAgo, usedDaysAgo }: { createdDaysAgo: number; usedDaysAgo: number },
  ): Promise<void> {
    await app.context.engine.db
      .updateTable('sessions')
      .set({ created_at: daysAgo(createdDaysAgo), last_used_at: daysAgo(usedDaysAgo) })
      .where('token_hash', '=', sha256(token))
      .execute();
  }
});

describe('logout', () => {
  test('ends the current session only', async () => {
    const token = await openSession(alice);
    const other = await openSession(alice);
    const { data, response } = await api.logout({ client: app.client(token) });
    expect(response?.status).toBe(200);
    expect(data).toEqual({ message: 'You are signed out.' });
    expect(await getProfileStatus(token)).toBe(401);
    expect(await getProfileStatus(other)).toBe(200);
    expect((await api.logout({ client: app.client(token) })).error).toMatchObject({ status: 401 });
  });

  test('ends all sessions of the account with everywhere=true, and no others', async () => {
    const bob = await app.register('bob');
    const tokens = [await openSession(bob), await openSession(bob), bob.token];
    await api.logout({
      client: app.client(tokens[0]),
      query: { everywhere: true },
      throwOnError: true,
    });
    expect(await Promise.all(tokens.map(getProfileStatus))).toEqual([401, 401, 401]);
    expect(await getProfileStatus(alice.token)).toBe(200);
    expect(await getProfileStatus(await openSession(bob))).toBe(200);
  });

  test('ends the current session only with everywhere=false', async () => {
    const token = await openSession(alice);
    await api.logout({
      client: app.client(token),
      query: { everywhere: false },
      throwOnError: true,
    });
    expect(await getProfileStatus(token)).toBe(401);
    expect(await getProfileStatus(alice.token)).toBe(200);
  });

  test.each(['everywhere=yes', 'everywhere', 'everywhere=true&everywhere=false'])(
    'rejects ?%s and keeps the session',
    async (query) => {
      const { headers } = alice;
      const response = await app.fetch(`/api/auth/logout?${query}`, { method: 'POST', headers });
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ errors: [{ pointer: '?everywhere' }] });
      expect(await getProfileStatus(alice.token)).toBe(200);
    },
  );
});

describe('listSessions', () => {
  const list = async (token: string) =>
    (await api.listSessions({ client: app.client(token), throwOnError: true })).data;

  test('returns the sessions of the caller, newest first, without tokens', async () => {
    const carla = await app.register('carla');
    const newer = await openSession(carla);
    const sessions = await list(carla.token);
    const session = {
      session_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      created_at: expect.any(String),
      last_used_at: expect.any(String),
    };
    expect(sessions).toEqual([
      { ...session, is_current: false },
      { ...session, is_current: true },
    ]);
    expect((await list(newer)).map(({ is_current }) => is_current)).toEqual([true, false]);
    const text = JSON.stringify(sessions);
    for (const secret of [carla.token, newer, sha256(carla.token), sha256(newer)]) {
      expect(text).not.toContain(secret);
    }
  });

  test('omits expired sessions', async () => {
    const dora = await app.register('dora');
    const expired = await openSession(dora);
    await app.context.engine.db
      .updateTable('sessions')
      .set({ last_used_at: daysAgo(31) })
      .where('token_hash', '=', sha256(expired))
      .execute();
    expect(await list(dora.token)).toMatchObject([{ is_current: true }]);
  });

  test('returns pages', async () => {
    const edda = await app.register('edda');
    for (let i = 0; i < 4; i += 1) await openSession(edda);
    const pages = await readPages<SessionSummary>(app, '/api/auth/sessions?limit=2', edda);
    expect(pages.map((page) => page.length)).toEqual([2, 2, 1]);
    expect(pages.flat()).toEqual(await list(edda.token));
  });
});

describe('endSession', () => {
  const end = (token: string, session_id: string) =>
    api.endSession({ client: app.client(token), path: { session_id } });
  const idOf = async (token: string) => {
    const { data } = await api.listSessions({ client: app.client(token), throwOnError: true });
    return data.find(({ is_current }) => is_current)?.session_id as string;
  };

  test('ends one session of the caller', async () => {
    const tokens = [await openSession(alice), await openSession(alice), await openSession(alice)];
    const [caller, ended, other] = tokens as [string, string, string];
    const sessionId = await idOf(ended);
    const { data } = await end(caller, sessionId);
    expect(data).toEqual({ message: 'The session has ended.' });
    expect(await getProfileStatus(ended)).toBe(401);
    expect(await getProfileStatus(caller)).toBe(200);
    expect(await getProfileStatus(other)).toBe(200);
    expect((await end(caller, sessionId)).error).toMatchObject({
      status: 404,
      code: 'session_not_found',
    });
  });

  test('can end the session that sends the request', async () => {
    const token = await openSession(alice);
    expect((await end(token, await idOf(token))).response?.status).toBe(200);
    expect(await getProfileStatus(token)).toBe(401);
  });

  test('does not end sessions of other users', async () => {
    const fred = await app.register('fred');
    const { error } = await end(fred.token, await idOf(alice.token));
    expect(error).toMatchObject({ status: 404, code: 'session_not_found' });
    expect(await getProfileStatus(alice.token)).toBe(200);
  });

  test.each(['a'.repeat(65), 'no id', "'--", 'a\0'])('rejects the malformed id %j', async (id) => {
    const { error } = await end(alice.token, id);
    expect(error).toMatchObject({
      status: 400,
      code: 'invalid_request',
      errors: [{ pointer: '{session_id}' }],
    });
  });
});

describe('Cache-Control', () => {
  const cacheControl = (response: Response | undefined) => response?.headers.get('cache-control');

  test('is no-store for responses with an access token', async () => {
    const registered = await register({ username: 'secretive', email: 'secretive@example.com' });
    expect(cacheControl(registered.response)).toBe('no-store');
    const loggedIn = await login(alice.email, alice.password);
    expect(cacheControl(loggedIn.response)).toBe('no-store');
  });

  test('is no-store for responses that only the caller may read', async () => {
    const { client } = alice;
    expect(cacheControl((await api.getProfile({ client })).response)).toBe('no-store');
    expect(cacheControl((await api.listParticipations({ client })).response)).toBe('no-store');
    const path = await createSpace(alice, { visibility: 'private' });
    expect(cacheControl((await api.getSpace({ client, path })).response)).toBe('no-store');
  });

  test.each(['/api/profile/me', '/api/nowhere', '/api/%FF', '/api/spaces/none', '/avatars/none'])(
    'is no-store for the error at %s',
    async (path) => {
      const response = await app.fetch(path);
      expect(response.status).toBeGreaterThanOrEqual(400);
      expect(cacheControl(response)).toBe('no-store');
    },
  );

  test('is absent from public responses', async () => {
    const { response } = await api.searchSpaces({ client: app.client(), query: { q: 'tea' } });
    expect(cacheControl(response)).toBeNull();
  });
});

function daysAgo(days: number): string {
  return new Date(Date.now() - days * 24 * 60 * 60 * 1000).toISOString();
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
