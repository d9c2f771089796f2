import { beforeAll, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import type {
  ListedSpace,
  ListSpacesData,
  SearchResult,
  Space,
} from '../../generated/types.gen.ts';
import type { TestUser } from '../support/client.ts';
import { readPages } from '../support/pages.ts';
import { getPage, searchPath, tagPath } from '../support/search-pages.ts';
import { createSpace, joinSpace, leaveSpace } from '../support/spaces.ts';
import { createTeaSpaces } from '../support/tea-spaces.ts';
import { useApp } from '../support/use-app.ts';

const app = useApp();
let ann: TestUser;
let guests: TestUser[];
let spaces: Space[];

beforeAll(async () => {
  ({ ann, guests, spaces } = await createTeaSpaces(app));
  await createSpace(ann, { title: 'Secret tea', visibility: 'private', tags: ['everything'] });
});

type Parameters = NonNullable<ListSpacesData['query']>;

const pathOf = (parameters: Parameters) =>
  `/api/spaces?${new URLSearchParams(Object.entries(parameters).map(([k, v]) => [k, String(v)]))}`;

const ids = (results: Pick<Space, 'space_id'>[]) => results.map(({ space_id }) => space_id);

/** Reads all pages with `next_cursor`, like clients that see only bodies. */
async function readAll(parameters: Parameters, client = app.client()): Promise<ListedSpace[][]> {
  const pages: ListedSpace[][] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const query = { ...parameters, cursor };
    const { data } = await api.listSpaces({ client, query, throwOnError: true });
    pages.push(data.items);
    cursor = data.next_cursor;
  }
  return pages;
}

/** Returns search results as `listSpaces` has them without a token. */
const listed = (pages: SearchResult[][]): ListedSpace[][] =>
  pages.map((page) => page.map((result) => ({ ...result, participation: null })));

describe('listSpaces', () => {
  test.each(['tea', 'tea cake', '茶道', 'teehouse', 'nothing like it', ' '])(
    'returns the pages of searchSpaces for q=%s',
    async (q) => {
      for (const as_typed of [false, true]) {
        const pages = await readPages<SearchResult>(app, searchPath(q, 7, as_typed));
        expect(await readAll({ q, limit: 7, as_typed })).toEqual(listed(pages));
      }
    },
  );

  test('returns the other query, on every page', async () => {
    const parameters = { q: 'teehouse', limit: 1 };
    const first = await getPage(app, pathOf(parameters));
    expect(first.body.answered_query).toBe('teahouse');
    expect((await getPage(app, first.next as string)).body.answered_query).toBe('teahouse');
    const asTyped = await getPage(app, pathOf({ ...parameters, as_typed: true }));
    expect(asTyped.body).toEqual({ items: [], next_cursor: null, answered_query: null });
  });

  test.each(['everything', 'MOST', '#most', 'unknown', ' '])(
    'returns the pages of searchSpacesByTag for tag=%s',
    async (tag) => {
      const pages = await readPages<SearchResult>(app, tagPath(tag, 7));
      expect(await readAll({ tag, limit: 7 })).toEqual(listed(pages));
    },
  );

  test('says in which spaces the caller participates, in every list and on every page', async () => {
    const [joined, left] = [
      await createSpace(ann, { title: 'Mokka ☕', description: 'ÄÖÜ', tags: ['mokka'] }),
      await createSpace(ann, { title: 'Mokka', tags: ['mokka'] }),
    ];
    const ben = await app.register();
    await joinSpace(ben, left);
    await leaveSpace(ben, left);
    const { joined_at } = await joinSpace(ben, joined);
    const orders = ['newest', 'popular'] as const;
    const lists = [{ q: 'mokka' }, { tag: 'mokka' }, ...orders.map((sort) => ({ sort }))];
    for (const parameters of lists) {
      for (const limit of [1, 7, 100]) {
        const found = async (client: typeof ben.client) =>
          (await readAll({ ...parameters, limit }, client)).flat();
        const anonymous = await found(app.client());
        expect(ids(anonymous)).toEqual(expect.arrayContaining(ids([joined, left])));
        expect(await found(ben.client)).toEqual(
          anonymous.map((space) => ({
            ...space,
            participation:
              space.space_id === joined.space_id ? { joined_at, role: 'participant' } : null,
          })),
        );
      }
    }
    for (const path of [joined, left]) {
      await api.deleteSpace({ client: ann.client, path, throwOnError: true });
    }
  });

  test('keeps pages with participations out of caches, and rejects an invalid token', async () => {
    const path = pathOf({ sort: 'newest' });
    const cacheControl = async (init?: RequestInit) =>
      (await app.fetch(path, init)).headers.get('cache-control');
    expect(await cacheControl({ headers: ann.headers })).toBe('no-store');
    expect(await cacheControl()).toBeNull();
    const headers = { authorization: 'Bearer sps_unknown' };
    expect((await getPage(app, path, { headers })).status).toBe(401);
  });

  test('returns no spaces for an empty tag', async () => {
    expect(await readAll({ tag: '' })).toEqual([[]]);
  });

  test.each(['c#', 'c/c++', '50% x', '?&=', '.', '..', 'a\\b'])(
    'finds the tag %s, although it has a meaning in paths',
    async (tag) => {
      const { space_id } = await createSpace(ann, { title: 'Odd', tags: [tag] });
      expect(ids((await readAll({ tag })).flat())).toEqual([space_id]);
      await api.deleteSpace({ client: ann.client, path: { space_id }, throwOnError: true });
    },
  );

  test.each([1, 10, 63, 64, 65])('returns all public spaces in pages of %i', async (limit) => {
    const newest = ids(spaces).toReversed();
    expect(ids((await readAll({ sort: 'newest', limit })).flat())).toEqual(newest);
    const popular = await readAll({ sort: 'popular', limit });
    expect(popular).toHaveLength(Math.ceil(spaces.length / limit));
    expect(ids(popular.flat()).toSorted()).toEqual(newest.toSorted());
    expect(await readAll({ limit })).toEqual(popular);
  });

  test('sorts by steps of popularity, then newest first', async () => {
    const found = (await readAll({ sort: 'popular', limit: 100 })).flat();
    const ages = ids(spaces);
    const byTag = (await readAll({ tag: 'everything', limit: 100 })).flat();
    // All spaces have this tag, and the tag search sorts in the same way.
    expect(ids(found)).toEqual(ids(byTag));
    expect(found[0]?.participant_count).toBe(guests.length + 1);
    const single = found.filter(({ participant_count }) => participant_count === 1);
    const positions = single.map(({ space_id }) => ages.indexOf(space_id));
    expect(positions).toEqual(positions.toSorted((a, b) => b - a));
  });

  test('repeats no space that becomes less or more popular between two pages', async () => {
    for (const sort of ['popular', 'newest'] as const) {
      const first = await getPage(app, pathOf({ sort, limit: 5 }));
      const seen = first.body.items as Space[];
      const [unpopular, popular] = [seen[0] as Space, spaces[0] as Space];
      const fans = guests.slice(1);
      for (const fan of fans) {
        await leaveSpace(fan, unpopular);
        await joinSpace(fan, popular);
      }
      const rest = await readPages<SearchResult>(app, first.next as string);
      const all = ids([...seen, ...rest.flat()]);
      expect(new Set(all).size).toBe(all.length);
      for (const fan of fans) {
        await joinSpace(fan, unpopular);
        await leaveSpace(fan, popular);
      }
    }
  });

  test('omits spaces that become private or are deleted between two pages', async () => {
    for (const sort of ['popular', 'newest'] as const) {
      const [hidden, deleted] = [await createSpace(ann), await createSpace(ann)];
      const last = await createSpace(ann);
      const first = await getPage(app, pathOf({ sort, limit: 1 }));
      const [{ space_id: firstId }] = first.body.items;
      expect([hidden.space_id, deleted.space_id]).not.toContain(firstId);
      const body = { visibility: 'private' } as const;
      await api.updateSpace({ client: ann.client, path: hidden, body, throwOnError: true });
      await api.deleteSpace({ client: ann.client, path: deleted, throwOnError: true });
      const rest = (await readPages<SearchResult>(app, first.next as string)).flat();
      const all = (await readAll({ sort, limit: 100 })).flat();
      for (const each of [rest, all]) {
        expect(ids(each)).not.toContain(hidden.space_id);
        expect(ids(each)).not.toContain(deleted.space_id);
      }
      for (const path of [hidden, last]) {
        await api.deleteSpace({ client: ann.client, path, throwOnError: true });
      }
    }
  });

  test.each<[Record<string, string>, string, string]>([
    [{ q: 'tea', tag: 'most' }, 'tag', 'cannot be combined with q'],
    [{ q: 'tea', sort: 'newest' }, 'sort', 'cannot be combined with q'],
    [{ q: '', sort: 'popular' }, 'sort', 'cannot be combined with q'],
    [{ tag: 'most', sort: 'popular' }, 'sort', 'cannot be combined with tag'],
    [{ as_typed: 'true' }, 'as_typed', 'requires q'],
    [{ as_typed: 'true', tag: 'most' }, 'as_typed', 'requires q'],
    [{ as_typed: 'true', sort: 'newest' }, 'as_typed', 'requires q'],
  ])('rejects the combination %j', async (parameters, name, message) => {
    const { status, body } = await getPage(app, `/api/spaces?${new URLSearchParams(parameters)}`);
    expect(status).toBe(400);
    expect(body).toMatchObject({
      code: 'invalid_request',
      errors: [{ in: 'query', name, code: 'conflicting', message }],
    });
  });

  test('accepts the cursor of the default order with the order, and vice versa', async () => {
    for (const [first, second] of [
      ['', '&sort=popular'],
      ['&sort=popular', ''],
    ]) {
      const { body } = await getPage(app, `/api/spaces?limit=1${first}`);
      const next = `/api/spaces?limit=1${second}&cursor=${body.next_cursor}`;
      expect((await getPage(app, next)).status).toBe(200);
    }
  });
});
