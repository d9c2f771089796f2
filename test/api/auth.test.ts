import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hash } from '@node-rs/argon2';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import type { Registration } from '../../generated/types.gen.ts';
import { startApp, type TestApp, type TestUser } from '../support/app.ts';

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

const signIn = async ({ email, password }: TestUser) =>
  (await api.login({ client: app.client(), body: { email, password }, throwOnError: true })).data
    .access_token;

/** The status that a token gets for its profile. */
const statusOf = async (token: string) =>
  (await api.getProfile({ client: app.client(token) })).response?.status;

describe('Registration', () => {
  test('makes an account and signs it in', async () => {
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
    ['itself', 'alice'],
    ['other capitals', 'ALICE'],
    ['full width', 'ａｌｉｃｅ'],
    ['a digit for a letter', 'a1ice'],
    ['a Cyrillic letter', 'аlice'],
  ])('refuses a name that is taken, written as %s', async (_, username) => {
    const { error } = await register({ username });
    expect(error).toMatchObject({
      status: 409,
      code: 'username_taken',
      errors: [{ pointer: '/username' }],
    });
  });

  test.each(['admin', 'Support', 'аdmin'])('refuses %s, which is reserved', async (username) => {
    expect((await register({ username })).error).toMatchObject({
      status: 409,
      code: 'username_reserved',
      errors: [{ pointer: '/username' }],
    });
  });

  test('refuses an address that is taken, whatever its capitals', async () => {
    const { error } = await register({ email: alice.email.toUpperCase() });
    expect(error).toMatchObject({
      status: 409,
      code: 'email_taken',
      errors: [{ pointer: '/email' }],
    });
  });

  test.each<[string, Partial<Registration>, string]>([
    ['a name in two scripts', { username: 'zеbra' }, 'username_invalid'],
    ['a name with an outer space', { username: ' zebra' }, 'username_invalid'],
    ['a name of one letter', { username: 'z' }, 'invalid_request'],
    ['no address', { email: 'somewhere' }, 'invalid_request'],
    ['an address beyond 254 bytes', { email: `${'a'.repeat(250)}@b.co` }, 'invalid_request'],
    ['a password of 7 characters', { password: '7 chars' }, 'invalid_request'],
    [
      'a password of 257 characters',
      { password: 'long '.repeat(51).padEnd(257) },
      'invalid_request',
    ],
    ['one of the commonest passwords', { password: 'Password1' }, 'password_too_common'],
    [
      'the name as password',
      { username: 'zanzibar.k', password: 'Zanzibar.K' },
      'password_names_you',
    ],
    [
      'the address as password',
      { email: 'me@zanzibar.example', password: 'me@zanzibar.example' },
      'password_names_you',
    ],
  ])('refuses %s, and points at it', async (_, registration, code) => {
    const { error } = await register(registration);
    const field = Object.keys(registration).at(-1);
    expect(error).toMatchObject({ status: 400, code, errors: [{ pointer: `/${field}` }] });
  });

  test('leaves name and address free when it refuses', async () => {
    const [username, email] = ['undecided', 'undecided@example.com'];
    expect((await register({ username, email, password: 'password' })).error).toBeDefined();
    expect((await register({ username, email })).response?.status).toBe(201);
  });

  test('gives a name to one of fifty who ask for it or its look-alikes at once', async () => {
    // Latin, Cyrillic and full width; each is a good name by itself.
    const forms = ['coco', 'Coco', 'COCO', 'сосо', 'ｃｏｃｏ'];
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        register({ username: forms[i % forms.length] ?? '', email: `coco${i}@example.com` }),
      ),
    );
    const refused = answers.filter(({ response }) => response?.status !== 201);
    expect(refused).toHaveLength(49);
    for (const { error } of refused) {
      expect(error).toMatchObject({ status: 409, code: 'username_taken' });
    }
  });

  test('gives an address to one of ten who ask for it at once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        register({ username: `many-${'abcdefghij'[i]}`, email: 'Many@example.com' }),
      ),
    );
    const refused = answers.filter(({ response }) => response?.status !== 201);
    expect(refused).toHaveLength(9);
    for (const { error } of refused) {
      expect(error).toMatchObject({ status: 409, code: 'email_taken' });
    }
  });
});

describe('Login', () => {
  test('makes anew a hash that came from elsewhere and cost less', async () => {
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

  test('opens one more session for whoever knows the password', async () => {
    const { data, response } = await login(alice.email.toUpperCase(), alice.password);
    expect(response?.status).toBe(200);
    expect(data).toMatchObject({
      user_id: alice.userId,
      token_type: 'Bearer',
      expires_in: 2_592_000,
    });
    expect(data?.access_token).not.toBe(alice.token);
    expect(await statusOf(data?.access_token ?? '')).toBe(200);
    expect(await statusOf(alice.token)).toBe(200);
  });

  test('takes a password however its accents are encoded', async () => {
    const password = 'crème brûlée';
    await register({
      username: 'cook',
      email: 'cook@example.com',
      password: password.normalize('NFD'),
    });
    const { response } = await login('cook@example.com', password.normalize('NFC'));
    expect(response?.status).toBe(200);
  });

  test('takes no password that is merely similar', async () => {
    const { password } = alice;
    for (const similar of [`${password} `, password.toUpperCase(), password.slice(0, -1)]) {
      expect((await login(alice.email, similar)).response?.status).toBe(401);
    }
  });

  test('answers to an unknown address as to a wrong password', async () => {
    const wrong = await login(alice.email, 'not her password');
    const unknown = await login('nobody@example.com', 'not her password');
    expect(wrong.error).toMatchObject({ status: 401, code: 'credentials_incorrect', errors: [] });
    expect(unknown.error).toEqual({ ...wrong.error, request_id: expect.any(String) });
    const names = ({ response }: { response?: Response }) => [...(response?.headers.keys() ?? [])];
    expect(names(unknown)).toEqual(names(wrong));
    expect(wrong.response?.headers.get('www-authenticate')).toBe('Bearer');
  });

  test('takes as long for an unknown address as for a wrong password', async () => {
    const fastest = { wrong: Number.POSITIVE_INFINITY, unknown: Number.POSITIVE_INFINITY };
    const measure = async (kind: keyof typeof fastest, email: string) => {
      const start = performance.now();
      await login(email, 'not her password');
      fastest[kind] = Math.min(fastest[kind], performance.now() - start);
    };
    const isAlike = () => Math.abs(Math.log(fastest.unknown / fastest.wrong)) < Math.log(1.5);
    // On a busy machine it takes some tries until each has been as fast as it can be.
    for (let i = 0; i < 5 || (i < 30 && !isAlike()); i += 1) {
      await measure('wrong', alice.email);
      await measure('unknown', 'nobody@example.com');
    }
    // Without a hash to verify, the answer would come in a tenth of the time.
    expect(isAlike(), JSON.stringify(fastest)).toBe(true);
  });
});

describe('An access token', () => {
  test('is 256 random bits behind a prefix that tells what it is', () => {
    expect(alice.token).toMatch(/^sps_[A-Za-z0-9_-]{43}$/);
  });

  test('is kept nowhere but as a hash', async () => {
    const row = await session(alice.token).selectAll().executeTakeFirstOrThrow();
    expect(row.token_hash).toBe(sha256(alice.token));
    const folder = app.context.config.dataDir;
    const files = await readdir(folder, { recursive: true, withFileTypes: true });
    for (const file of files.filter((each) => each.isFile())) {
      const bytes = await readFile(join(file.parentPath, file.name));
      expect(bytes.includes(alice.token), file.name).toBe(false);
    }
  });

  test.each(['Bearer', 'bearer', 'BEARER'])('is taken behind %s', async (scheme) => {
    const headers = { authorization: `${scheme} ${alice.token}` };
    expect((await app.fetch('/api/profile/me', { headers })).status).toBe(200);
  });

  test.each<[string, string, (token: string) => string | undefined]>([
    ['no header', 'Bearer', () => undefined],
    ['another scheme', 'Bearer', (token) => `Basic ${token}`],
    ['the scheme alone', 'Bearer', () => 'Bearer'],
    ['no scheme', 'Bearer', (token) => token],
    ['an unknown token', 'Bearer error="invalid_token"', () => `Bearer sps_${'A'.repeat(43)}`],
    ['half of it', 'Bearer error="invalid_token"', (token) => `Bearer ${token.slice(0, 20)}`],
    ['one more letter', 'Bearer error="invalid_token"', (token) => `Bearer ${token}A`],
    ['other capitals', 'Bearer error="invalid_token"', (token) => `Bearer ${token.toUpperCase()}`],
    ['two of them', 'Bearer error="invalid_token"', (token) => `Bearer ${token} ${token}`],
    ['its hash', 'Bearer error="invalid_token"', (token) => `Bearer ${sha256(token)}`],
    ['quotes around it', 'Bearer error="invalid_token"', (token) => `Bearer "${token}"`],
    ['SQL', 'Bearer error="invalid_token"', () => "Bearer ' OR 1=1 --"],
  ])('is needed whole: %s gets 401 and WWW-Authenticate: %s', async (_, challenge, header) => {
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

  test('is taken from its header only', async () => {
    const { token } = alice;
    const inQuery = await app.fetch(`/api/profile/me?access_token=${token}`);
    expect(inQuery.status).toBe(401);
    const cookie = `access_token=${token}; token=${token}`;
    const inCookie = await app.fetch('/api/profile/me', { headers: { cookie } });
    expect(inCookie.status).toBe(401);
  });

  test('ends after 30 days without use, and not sooner', async () => {
    const [token, other] = [await signIn(alice), await signIn(alice)];
    await age(token, { created: 31, used: 30.001 });
    await age(other, { created: 31, used: 29.999 });
    expect(await statusOf(token)).toBe(401);
    expect(await statusOf(other)).toBe(200);
  });

  test('lives on by being used', async () => {
    const token = await signIn(alice);
    await age(token, { created: 40, used: 29 });
    expect(await statusOf(token)).toBe(200);
    const { last_used_at } = await session(token).selectAll().executeTakeFirstOrThrow();
    expect(Date.now() - Date.parse(last_used_at)).toBeLessThan(10_000);
  });

  test('ends after 90 days however much it is used', async () => {
    const [token, other] = [await signIn(alice), await signIn(alice)];
    await age(token, { created: 90.001, used: 0 });
    await age(other, { created: 89.999, used: 0 });
    expect(await statusOf(token)).toBe(401);
    expect(await statusOf(other)).toBe(200);
  });

  test('is forgotten when it has ended', async () => {
    const token = await signIn(alice);
    await age(token, { created: 90.001, used: 0 });
    await app.context.housekeeping.run();
    expect(await session(token).selectAll().executeTakeFirst()).toBeUndefined();
    expect(await statusOf(alice.token)).toBe(200);
  });

  test('ends as soon as the settings say', async () => {
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

  /** The session of a token, as it is stored. */
  const session = (token: string) =>
    app.context.engine.db.selectFrom('sessions').where('token_hash', '=', sha256(token));

  async function age(token: string, { created, used }: { created: number; used: number }) {
    await app.context.engine.db
      .updateTable('sessions')
      .set({ created_at: daysAgo(created), last_used_at: daysAgo(used) })
      .where('token_hash', '=', sha256(token))
      .execute();
  }
});

describe('Logout', () => {
  test('ends the session, and no other', async () => {
    const [token, other] = [await signIn(alice), await signIn(alice)];
    const { data, response } = await api.logout({ client: app.client(token) });
    expect(response?.status).toBe(200);
    expect(data).toEqual({ message: 'You are signed out.' });
    expect(await statusOf(token)).toBe(401);
    expect(await statusOf(other)).toBe(200);
    expect((await api.logout({ client: app.client(token) })).error).toMatchObject({ status: 401 });
  });

  test('everywhere ends all sessions of the account, and nobody else’s', async () => {
    const bob = await app.register('bob');
    const tokens = [await signIn(bob), await signIn(bob), bob.token];
    await api.logout({
      client: app.client(tokens[0]),
      query: { everywhere: true },
      throwOnError: true,
    });
    expect(await Promise.all(tokens.map(statusOf))).toEqual([401, 401, 401]);
    expect(await statusOf(alice.token)).toBe(200);
    expect(await statusOf(await signIn(bob))).toBe(200);
  });

  test('with everywhere=false ends one session', async () => {
    const token = await signIn(alice);
    await api.logout({
      client: app.client(token),
      query: { everywhere: false },
      throwOnError: true,
    });
    expect(await statusOf(token)).toBe(401);
    expect(await statusOf(alice.token)).toBe(200);
  });

  test.each(['everywhere=yes', 'everywhere', 'everywhere=true&everywhere=false'])(
    'with ?%s ends none',
    async (query) => {
      const { headers } = alice;
      const response = await app.fetch(`/api/auth/logout?${query}`, { method: 'POST', headers });
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ errors: [{ pointer: '?everywhere' }] });
      expect(await statusOf(alice.token)).toBe(200);
    },
  );
});

describe('No cache', () => {
  const cacheControl = (response: Response | undefined) => response?.headers.get('cache-control');

  test('keeps a token', async () => {
    const [username, email] = ['secretive', 'secretive@example.com'];
    expect(cacheControl((await register({ username, email })).response)).toBe('no-store');
    expect(cacheControl((await login(alice.email, alice.password)).response)).toBe('no-store');
  });

  test('keeps what is for its caller alone', async () => {
    const { client } = alice;
    expect(cacheControl((await api.getProfile({ client })).response)).toBe('no-store');
    expect(cacheControl((await api.listParticipations({ client })).response)).toBe('no-store');
    const body = { title: 'Hidden', description: '', visibility: 'private' as const, tags: [] };
    const { data } = await api.createSpace({ client, body, throwOnError: true });
    const path = { space_id: data.space_id };
    expect(cacheControl((await api.getSpace({ client, path })).response)).toBe('no-store');
  });

  test.each(['/api/profile/me', '/api/nowhere', '/api/%FF', '/api/spaces/none', '/avatars/none'])(
    'keeps the error at %s',
    async (path) => {
      const response = await app.fetch(path);
      expect(response.status).toBeGreaterThanOrEqual(400);
      expect(cacheControl(response)).toBe('no-store');
    },
  );

  test('is kept from what anyone may read', async () => {
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
