import { beforeAll, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import { uploadAvatar } from '../support/avatar.ts';
import type { TestUser } from '../support/client.ts';
import { getError } from '../support/errors.ts';
import { useApp } from '../support/use-app.ts';

const app = useApp();
let ann: TestUser;
let ben: TestUser;

beforeAll(async () => {
  ann = await app.register('ann');
  ben = await app.register('ben');
});

const getUser = async ({ client }: TestUser, user_id: string) =>
  (await api.getUser({ client, path: { user_id }, throwOnError: true })).data;

describe('getUser', () => {
  test('returns the same public fields to any signed-in user: no email address, password or statistics', async () => {
    const { data: profile } = await api.getProfile({ client: ann.client, throwOnError: true });
    const expected = await getUser(ben, ann.userId);
    expect(expected).toEqual({
      user_id: ann.userId,
      username: 'ann',
      bio: '',
      profile_picture: `${app.url}/avatars/default.webp`,
      created_at: profile.created_at,
    });
    expect(await getUser(ann, ann.userId)).toEqual(expected);
  });

  test('returns a new username, bio and avatar immediately', async () => {
    const { client } = await app.register('zoe');
    const { data: profile } = await api.getProfile({ client, throwOnError: true });
    await api.changeUsername({ client, body: { username: 'Zoë.2' }, throwOnError: true });
    await api.changeBio({ client, body: { bio: 'Two\nlines, "quoted".' }, throwOnError: true });
    const avatarUrl = await uploadAvatar({ client });
    expect(await getUser(ben, profile.user_id)).toEqual({
      user_id: profile.user_id,
      username: 'Zoë.2',
      bio: 'Two\nlines, "quoted".',
      profile_picture: avatarUrl,
      created_at: profile.created_at,
    });
  });

  test('returns 404 after the account has been deleted', async () => {
    const user = await app.register();
    await api.deleteAccount({ client: user.client, throwOnError: true });
    const call = api.getUser({ client: ben.client, path: { user_id: user.userId } });
    expect(await getError(call)).toBe('404 user_not_found');
  });

  test.each([
    ['an unknown id', 'a'.repeat(64), '404 user_not_found'],
    ['a username', 'ann', '404 user_not_found'],
    ['an email address', 'ann@example.com', '400 invalid_request'],
    ['an id of 65 characters', 'a'.repeat(65), '400 invalid_request'],
    ['an id with a space', 'no id', '400 invalid_request'],
  ])('rejects %s', async (_, user_id, expected) => {
    expect(await getError(api.getUser({ client: ben.client, path: { user_id } }))).toBe(expected);
  });

  test('requires a valid token', async () => {
    const path = { user_id: ann.userId };
    for (const client of [app.client(), app.client('not-a-token')]) {
      expect(await getError(api.getUser({ client, path }))).toBe('401 unauthenticated');
    }
  });
});
