import { afterAll, beforeAll, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import { startApp, type TestApp, type TestUser } from '../support/app.ts';
import { avatarFile } from '../support/avatar.ts';
import { refusal } from '../support/spaces.ts';

let app: TestApp;
let ann: TestUser;
let ben: TestUser;

beforeAll(async () => {
  app = await startApp();
  ann = await app.register('ann');
  ben = await app.register('ben');
});
afterAll(() => app[Symbol.asyncDispose]());

const read = async ({ client }: TestUser, user_id: string) =>
  (await api.getUser({ client, path: { user_id }, throwOnError: true })).data;

test('A user is seen by others as by themselves, without address, password or statistics', async () => {
  const { data: profile } = await api.getProfile({ client: ann.client, throwOnError: true });
  const seen = await read(ben, ann.userId);
  expect(seen).toEqual({
    user_id: ann.userId,
    username: 'ann',
    bio: '',
    profile_picture: `${app.url}/avatars/default.webp`,
    created_at: profile.created_at,
  });
  expect(await read(ann, ann.userId)).toEqual(seen);
});

test('A user’s new name, bio and avatar are seen at once', async () => {
  const { client } = await app.register('zoe');
  const { data: profile } = await api.getProfile({ client, throwOnError: true });
  await api.changeUsername({ client, body: { username: 'Zoë.2' }, throwOnError: true });
  await api.changeBio({ client, body: { bio: 'Two\nlines, "quoted".' }, throwOnError: true });
  const { data } = await api.changeProfilePicture({
    client,
    body: { avatar: await avatarFile() },
    throwOnError: true,
  });
  expect(await read(ben, profile.user_id)).toEqual({
    user_id: profile.user_id,
    username: 'Zoë.2',
    bio: 'Two\nlines, "quoted".',
    profile_picture: data.profile_picture,
    created_at: profile.created_at,
  });
});

test('A user who deleted their account is not seen any more', async () => {
  const user = await app.register();
  await api.deleteAccount({ client: user.client, throwOnError: true });
  const call = api.getUser({ client: ben.client, path: { user_id: user.userId } });
  expect(await refusal(call)).toBe('404 user_not_found');
});

test.each([
  ['an identifier that nobody has', 'a'.repeat(64), '404 user_not_found'],
  ['a username', 'ann', '404 user_not_found'],
  ['an address', 'ann@example.com', '400 invalid_request'],
  ['65 characters', 'a'.repeat(65), '400 invalid_request'],
  ['blanks', 'no id', '400 invalid_request'],
])('Nobody is found by %s', async (_, user_id, expected) => {
  expect(await refusal(api.getUser({ client: ben.client, path: { user_id } }))).toBe(expected);
});

test('Users are seen by those who are signed in', async () => {
  const path = { user_id: ann.userId };
  for (const client of [app.client(), app.client('not-a-token')]) {
    expect(await refusal(api.getUser({ client, path }))).toBe('401 unauthenticated');
  }
});
