import sharp from 'sharp';
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { ApiError, ProfileAPI } from '../../client/index.ts';
import { client as globalClient } from '../../generated/client.gen.ts';
import * as api from '../../generated/sdk.gen.ts';
import type { TestUser } from '../support/client.ts';
import { useApp } from '../support/use-app.ts';

const app = useApp();
/** `fetch` that validates every request and response against the contract. */
let validatingFetch: typeof fetch;
let user: TestUser;
let requests: Request[];
let profile: ProfileAPI;
let photo: Buffer<ArrayBuffer>;

beforeAll(async () => {
  validatingFetch = app.client().getConfig().fetch as typeof fetch;
  const pixels = { width: 8, height: 8, channels: 3, background: 'teal' } as const;
  photo = Buffer.from(await sharp({ create: pixels }).jpeg().toBuffer());
});

beforeEach(async () => {
  user = await app.register();
  requests = [];
  profile = profileOf(user.token);
});
afterEach(() => {
  vi.restoreAllMocks();
});

function profileOf(
  token: ConstructorParameters<typeof ProfileAPI>[0]['token'],
  fetchResponse = validatingFetch,
) {
  return new ProfileAPI({
    baseUrl: app.url,
    token,
    fetch: (input, init) => {
      requests.push((input as Request).clone());
      return fetchResponse(input, init);
    },
  });
}

async function errorOf(promise: Promise<unknown>): Promise<ApiError> {
  const error = await promise.then(
    () => null,
    (error: unknown) => error,
  );
  expect(error).toBeInstanceOf(ApiError);
  return error as ApiError;
}

describe('getProfile', () => {
  test('returns a new username and bio immediately', async () => {
    expect(await profile.changeUsername('Grace Hopper')).toEqual({ message: expect.any(String) });
    expect(await profile.changeBio('Ships\nand computers')).toEqual({
      message: expect.any(String),
    });
    expect(await profile.getProfile()).toMatchObject({
      username: 'Grace Hopper',
      bio: 'Ships\nand computers',
    });
    await profile.changeBio('');
    expect((await profile.getProfile()).bio).toBe('');
  });
});

describe('changeUsername', () => {
  test('keeps the username if the new one is taken', async () => {
    const { username } = await app.register('Lovelace');
    const error = await errorOf(profile.changeUsername(username));
    expect(error).toMatchObject({ status: 409, problem: { code: 'username_taken' } });
    expect(error.message).toBe(error.problem?.detail);
    expect((await profile.getProfile()).username).toBe(user.username);
  });
});

describe('changePassword', () => {
  test('ends every other session', async () => {
    const body = { email: user.email, password: user.password };
    const { data } = await api.login({ client: app.client(), body, throwOnError: true });
    await profile.changePassword(user.password, 'staple of the north wind');
    expect(await errorOf(profileOf(data.access_token).getProfile())).toMatchObject({ status: 401 });
    expect(await profile.getProfile()).toMatchObject({ user_id: user.userId });
  });
});

describe('changeProfilePicture', () => {
  const sentFile = async () => (await requests.at(-1)?.formData())?.get('avatar') as File;

  test('sends a Blob without name and type as a JPEG named after the time', async () => {
    const before = Date.now();
    const { profile_picture } = await profile.changeProfilePicture(new Blob([photo]));
    const { name, type, size } = await sentFile();
    expect({ type, size }).toEqual({ type: 'image/jpeg', size: photo.length });
    const [, timestamp] = /^avatar-(\d+)\.jpg$/.exec(name) ?? [];
    expect(Number(timestamp)).toBeGreaterThanOrEqual(before);
    expect(Number(timestamp)).toBeLessThanOrEqual(Date.now());
    expect((await profile.getProfile()).profile_picture).toBe(profile_picture);
    expect((await fetch(profile_picture)).headers.get('content-type')).toBe('image/webp');
  });

  test('keeps the name and type of a File', async () => {
    const file = new File([await sharp(photo).png().toBuffer()], 'me.png', { type: 'image/png' });
    await profile.changeProfilePicture(file);
    expect(await sentFile()).toMatchObject({ name: 'me.png', type: 'image/png' });
  });

  test('keeps the name of a File without a type', async () => {
    await profile.changeProfilePicture(new File([photo], 'me'));
    expect(await sentFile()).toMatchObject({ name: 'me', type: 'image/jpeg' });
  });

  test('passes a React Native file reference to FormData', async () => {
    const append = vi.spyOn(FormData.prototype, 'append');
    const fetchResponse = async () =>
      Response.json({ profile_picture: 'https://cdn.example/a.webp' });
    const native = profileOf(user.token, fetchResponse);
    const uri = 'file:///data/cache/me.heic';
    await native.changeProfilePicture({ uri, type: 'image/heic', name: 'me.heic' });
    await native.changeProfilePicture({ uri, type: null });
    expect(append.mock.calls).toEqual([
      ['avatar', { uri, type: 'image/heic', name: 'me.heic' }],
      ['avatar', { uri, type: 'image/jpeg', name: expect.stringMatching(/^avatar-\d+\.jpg$/) }],
    ]);
  });
});

describe('downloadAccountData', () => {
  test('returns the data of the account', async () => {
    const data = await profile.downloadAccountData();
    expect(data.account).toEqual(await profile.getProfile());
    expect(data).toMatchObject({ sessions: [{ is_current: true }], messages: [], reports: [] });
  });
});

describe('removeProfilePicture', () => {
  test('restores the default avatar', async () => {
    const { profile_picture: first } = await profile.getProfile();
    await profile.changeProfilePicture(new Blob([photo]));
    expect(await profile.removeProfilePicture()).toEqual({ profile_picture: first });
  });
});

describe('deleteAccount', () => {
  test.each<[string, () => unknown]>([
    ['false', () => false],
    ['a promise of false', async () => false],
    ['undefined', () => undefined],
    ['an object', () => ({ isConfirmed: false })],
  ])('sends no request if confirm returns %s', async (_, confirm) => {
    expect(await profile.deleteAccount({ confirm: confirm as () => boolean })).toBeNull();
    expect(requests).toEqual([]);
  });

  test('sends no request if confirm throws', async () => {
    const closed = new Error('closed');
    await expect(profile.deleteAccount({ confirm: () => Promise.reject(closed) })).rejects.toBe(
      closed,
    );
    expect(requests).toEqual([]);
  });

  test('deletes the account without a payload if confirm returns true', async () => {
    expect(await profile.deleteAccount({ confirm: async () => true })).toEqual({
      message: expect.any(String),
    });
    expect(requests.map(({ method, url, body }) => [method, url, body])).toEqual([
      ['DELETE', `${app.url}/api/profile/account`, null],
    ]);
    expect(await errorOf(profile.getProfile())).toMatchObject({ status: 401 });
  });
});

describe('the access token', () => {
  test('may be a function, which is called before each request', async () => {
    const other = await app.register();
    const tokens = [user.token, other.token];
    const rotating = profileOf(async () => tokens.shift() ?? '');
    expect((await rotating.getProfile()).user_id).toBe(user.userId);
    expect((await rotating.getProfile()).user_id).toBe(other.userId);
    expect(await errorOf(rotating.getProfile())).toMatchObject({
      status: 401,
      problem: { code: 'unauthenticated' },
    });
  });

  test('is not shared between objects or with the generated default client', async () => {
    const before = { ...globalClient.getConfig() };
    const other = await app.register();
    const both = [profile, profileOf(other.token)].map((each) => each.getProfile());
    const ids = (await Promise.all(both)).map(({ user_id }) => user_id);
    expect(ids).toEqual([user.userId, other.userId]);
    expect(globalClient.getConfig()).toEqual(before);
  });
});

describe('a failed request', () => {
  test('throws an ApiError without a status if there is no response', async () => {
    const error = await errorOf(
      new ProfileAPI({ baseUrl: 'http://127.0.0.1:1', token: 't' }).getProfile(),
    );
    expect(error).toMatchObject({ status: null, problem: null, retryAfter: null });
    expect(error.cause).toBeInstanceOf(TypeError);
  });

  test('throws an ApiError and sends nothing if the token function fails', async () => {
    const expired = new Error('signed out');
    const error = await errorOf(profileOf(() => Promise.reject(expired)).getProfile());
    expect(error).toMatchObject({ status: null, cause: expired });
    expect(requests).toEqual([]);
  });

  test.each([
    ['HTML', '<h1>Bad Gateway</h1>'],
    ['JSON of another shape', '{"message":"no upstream"}'],
    ['an empty body', ''],
  ])('throws an ApiError without a problem for a proxy error with %s', async (_, body) => {
    const init = { status: 503, headers: { 'Retry-After': '7' } };
    const error = await errorOf(profileOf('t', async () => new Response(body, init)).getProfile());
    expect(error).toMatchObject({ status: 503, problem: null, retryAfter: 7 });
  });

  test.each([
    ['HTML', '<h1>Sign in to the network</h1>'],
    ['an empty body', ''],
  ])('throws an ApiError for a 200 with %s', async (_, body) => {
    const error = await errorOf(profileOf('t', async () => new Response(body)).getProfile());
    expect(error).toMatchObject({ status: 200, problem: null });
  });
});
