import { expect, expectTypeOf, test } from 'vitest';
import {
  ApiError,
  createClient,
  createConfig,
  createSpace,
  fieldErrors,
  getProfile,
  login,
  searchSpaces,
} from '../../client/index.ts';
import { useApp } from '../support/use-app.ts';

const app = useApp();

const clientWith = (fetch: typeof globalThis.fetch) =>
  createClient(createConfig({ baseUrl: 'https://spaces.example.org', fetch }));

test('a function throws or returns the same ApiError', async () => {
  const client = createClient(createConfig({ baseUrl: app.url }));
  const { error } = await getProfile({ client });
  expectTypeOf(error).toEqualTypeOf<ApiError | undefined>();
  expect(error).toBeInstanceOf(ApiError);
  expect(error).toMatchObject({
    message: error?.problem?.detail,
    status: 401,
    code: 'unauthenticated',
    retryAfter: null,
  });
  await expect(getProfile({ client, throwOnError: true })).rejects.toMatchObject({
    name: 'ApiError',
    code: 'unauthenticated',
  });
});

test('an ApiError keeps Retry-After', async () => {
  const client = clientWith(async () =>
    Response.json(
      { code: 'unavailable', detail: 'Later.', errors: [] },
      { status: 503, headers: { 'Retry-After': '7' } },
    ),
  );
  const { error } = await searchSpaces({ client, query: { q: 'tea' } });
  expect(error).toMatchObject({ status: 503, code: 'unavailable', retryAfter: 7 });
});

test.each([
  [429, '1000;w=3600', { limit: 1000, period: 'hour' }],
  [429, '5000;w=86400', { limit: 5000, period: 'day' }],
  // Of a proxy.
  [429, '"burst";q=100;w=60', null],
  [409, '1000;w=3600', null],
])(
  'an ApiError of %s with RateLimit-Policy: %s has the quota %j',
  async (status, policy, quota) => {
    const client = clientWith(async () =>
      Response.json(
        { code: 'too_many_requests', detail: 'Later.', errors: [] },
        { status, headers: { 'RateLimit-Policy': policy } },
      ),
    );
    const { error } = await searchSpaces({ client, query: { q: 'tea' } });
    expect(error?.quota).toEqual(quota);
  },
);

test('a failed network is an ApiError without a status', async () => {
  const failure = new TypeError('fetch failed');
  const client = clientWith(() => Promise.reject(failure));
  const { error } = await searchSpaces({ client, query: { q: 'tea' } });
  expect(error).toBeInstanceOf(ApiError);
  expect(error).toMatchObject({ status: null, code: null, problem: null, cause: failure });
});

test.each([
  ['a page', () => new Response('<p>Sign in', { headers: { 'Content-Type': 'text/html' } })],
  [
    'a page without its type',
    () => new Response('<p>Sign in', { headers: { 'Content-Type': '' } }),
  ],
  ['an empty body', () => new Response('', { headers: { 'Content-Type': 'application/json' } })],
  ['no body', () => new Response(null, { status: 204 })],
  ['another text', () => Response.json('ok')],
])('a successful response with %s is an ApiError that is temporary', async (_, respond) => {
  const client = clientWith(async () => respond());
  const { data, error } = await login({ client, body: { email: 'a@b.c', password: 'secret' } });
  expect(data).toBeUndefined();
  expect(error).toMatchObject({ name: 'ApiError', code: null, isTemporary: true });
});

test('an aborted request fails with the reason of its signal', async () => {
  const client = createClient(createConfig({ baseUrl: app.url }));
  const reason = new Error('The user has left the page.');
  const signal = AbortSignal.abort(reason);
  const request = searchSpaces({ client, query: { q: 'tea' }, signal, throwOnError: true });
  await expect(request).rejects.toBe(reason);
});

test('fieldErrors has the message of each invalid field or parameter', async () => {
  const { token } = await app.register();
  const client = createClient(createConfig({ baseUrl: app.url, auth: token }));
  const body = { title: '', description: '', visibility: 'public', tags: ['tea', ''] } as const;
  const creation = await createSpace({ client, body: { ...body, tags: [...body.tags] } });
  expect(fieldErrors(creation.error)).toEqual({
    title: expect.any(String),
    tags: expect.any(String),
  });
  const search = await searchSpaces({ client, query: { q: 'tea', limit: 0 } });
  expect(fieldErrors(search.error)).toEqual({ limit: expect.any(String) });
  expect(fieldErrors((await getProfile({ client: clientWith(fetch) })).error)).toEqual({});
  expect(fieldErrors(new Error('another error'))).toEqual({});
});
