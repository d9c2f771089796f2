import { beforeAll, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import type { SearchResult } from '../../generated/types.gen.ts';
import type { TestUser } from '../support/client.ts';
import { readPages } from '../support/pages.ts';
import { createSpace, joinSpace } from '../support/spaces.ts';
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
    const { email: _, is_verified: __, updated_at: ___, stats: ____, ...shared } = profile;
    const expected = { ...shared, is_blocked: false };
    expect(expected).toMatchObject({ user_id: ann.userId, username: 'ann' });
    for (const reader of [ann, ben]) expect(await getUser(reader, ann.userId)).toEqual(expected);
  });
});

describe('listUserSpaces', () => {
  const pathOf = ({ userId }: TestUser, limit = 100) =>
    `/api/users/${userId}/spaces?limit=${limit}`;
  const readTitles = async (user: TestUser, limit?: number) => {
    const pages = await readPages<SearchResult>(app, pathOf(user, limit), { headers: ben.headers });
    return pages.flat().map(({ title }) => title);
  };

  test('returns the public spaces that a user created, newest first, on any page', async () => {
    const cat = await app.register();
    const titles = ['Bread', 'Cake', 'Tea', 'Wine'];
    for (const title of titles) await createSpace(cat, { title });
    await createSpace(cat, { title: 'Secrets', visibility: 'private' });
    await joinSpace(cat, await createSpace(ann));
    for (const limit of [1, 2, 4])
      expect(await readTitles(cat, limit)).toEqual(titles.toReversed());
    expect(await readTitles(ben)).toEqual([]);
  });

  test('returns the items of listSpaces', async () => {
    const dan = await app.register();
    const { space_id } = await createSpace(dan, { title: 'Quotes "', tags: ['C#', 'quotes'] });
    const { joined_at } = await joinSpace(ben, { space_id });
    const all = await api.listSpaces({
      client: ben.client,
      query: { tag: 'quotes' },
      throwOnError: true,
    });
    const path = { user_id: dan.userId };
    const { data } = await api.listUserSpaces({ client: ben.client, path, throwOnError: true });
    expect(data).toEqual({ items: all.data.items, next_cursor: null });
    expect(data.items).toMatchObject([
      { space_id, participant_count: 2, participation: { joined_at, role: 'participant' } },
    ]);
  });
});
