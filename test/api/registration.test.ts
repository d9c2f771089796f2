import { beforeAll, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import type { Registration } from '../../generated/types.gen.ts';
import { startApp } from '../support/app.ts';
import type { TestUser } from '../support/client.ts';
import { retryWhileUnavailable } from '../support/retry.ts';
import { useApp } from '../support/use-app.ts';

const app = useApp();
let alice: TestUser;

beforeAll(async () => {
  alice = await app.register('alice');
});

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

describe('register', () => {
  test('creates an account and a session', async () => {
    const { data, response } = await register({ username: 'Zoë.K', email: 'Zoe@Example.COM' });
    expect(response?.status).toBe(201);
    expect(data).toMatchObject({ token_type: 'Bearer', expires_in: 30 * 24 * 60 * 60 });
    const profile = await api.getProfile({ client: app.client(data?.access_token) });
    // All other fields would violate the contract.
    expect(profile.data).toMatchObject({
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

  test.each<[string, Partial<Registration>]>([
    ['only rules beyond the schema', { username: 'zеbra', password: 'Password1' }],
    ['the schema, too', { email: 'somewhere', password: '7 chars', username: ' zebra' }],
    ['the schema only once', { username: 'z', password: 'password', device_name: ' ' }],
  ])('points to all invalid values at once, if they break %s', async (_, registration) => {
    const fields = Object.keys(registration);
    expect((await register(registration)).error).toMatchObject({
      status: 400,
      code: 'invalid_request',
      errors: fields.map((field) => ({ pointer: `/${field}` })),
    });
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
