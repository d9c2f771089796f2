import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import type { SearchResult, Space } from '../../generated/types.gen.ts';
import { encodeCursor } from '../../server/pagination.ts';
import { indexSpace } from '../../server/search/documents.ts';
import { matches, queryWords } from '../../server/text/words/query.ts';
import { titleKey } from '../../server/text/words/tokenize.ts';
import { startApp, type TestApp, type TestUser } from '../support/app.ts';
import { nextPage, readPages } from '../support/pages.ts';
import { createSpace, join, send } from '../support/spaces.ts';

let app: TestApp;
let ann: TestUser;
/** All of them, the oldest first. */
const spaces: Space[] = [];

const TITLES = [
  ...['Tea', 'tea!', 'Green tea', 'Teahouse', 'Tea & cake', 'Cake', 'Coffee', 'Tea tasting'],
  ...['茶道', '茶道と花道', '道茶', '花道 茶道', 'Teacher’s cake', 'Ｔｅａ'],
];
const DESCRIPTIONS = ['', 'Tea for everyone.', 'With cake and 茶道.', '道茶道', 'No teabags.'];

beforeAll(async () => {
  app = await startApp();
  ann = await app.register('ann');
  const guests = await Promise.all(Array.from({ length: 5 }, () => app.register()));
  for (const [i, title] of [...TITLES, ...TITLES, ...TITLES, ...TITLES].entries()) {
    const space = await createSpace(i % 3 ? ann : (guests[0] as TestUser), {
      title,
      description: DESCRIPTIONS[(i * 7) % DESCRIPTIONS.length] as string,
      tags: i % 4 ? ['everything', 'most'] : ['everything'],
    });
    for (const guest of guests.slice(0, (i * 11) % 6)) await join(guest, space);
    spaces.push(space);
  }
});
afterAll(() => app[Symbol.asyncDispose]());

const ids = (results: Pick<Space, 'space_id'>[]) => results.map(({ space_id }) => space_id);

const searchPath = (q: string, limit: number) =>
  `/api/spaces/search?${new URLSearchParams({ q, limit: String(limit) })}`;
const tagPath = (tag: string, limit: number) =>
  `/api/spaces/tag/${encodeURIComponent(tag)}?limit=${limit}`;

const get = async (path: string) => {
  const response = await app.fetch(path);
  return { status: response.status, body: await response.json(), next: nextPage(response) };
};

describe('The pages of a search', () => {
  const queries = ['tea', 'TEA!', 'cake tea', 't', '茶道', '茶', '茶道 cake', 'green', 'teehouse'];

  /** What the rules of the order make of a query, worked out without an index. */
  const expected = (q: string, now: SearchResult[]) => {
    const words = queryWords(q === 'teehouse' ? 'teahouse' : q);
    const tier = ({ title, description }: SearchResult) => {
      if (titleKey(title) === titleKey(q)) return 0;
      if (matches(words, title)) return 1;
      return matches(words, `${title}\n${description}`) ? 2 : undefined;
    };
    const step = (space: SearchResult) => -Math.floor(2 * Math.log2(1 + space.participant_count));
    return now
      .map((space, age) => ({ space, tier: tier(space), age }))
      .filter((each) => each.tier !== undefined)
      .sort(
        (a, b) => Number(a.tier) - Number(b.tier) || step(a.space) - step(b.space) || b.age - a.age,
      )
      .map(({ space }) => space);
  };

  let current: SearchResult[];
  beforeAll(async () => {
    current = await Promise.all(
      spaces.map(async ({ space_id }) => {
        const path = { space_id };
        const { data } = await api.getSpace({ client: ann.client, path, throwOnError: true });
        const { created_at, invitation_code, ...result } = data;
        return result as SearchResult;
      }),
    );
  });

  test.each(queries)(
    'for "%s" have what its words are in, in the order of the rules',
    async (q) => {
      const { body } = await get(searchPath(q, 100));
      expect(body).toEqual(expected(q, current));
      expect(body.length).toBeGreaterThan(3);
    },
  );

  test.each(queries)('for "%s" are parts of the whole list, without repeats or gaps', async (q) => {
    const whole = (await get(searchPath(q, 100))).body;
    for (let limit = 1; limit <= 7; limit += 1) {
      const pages = await readPages<SearchResult>(app, searchPath(q, limit));
      expect(pages.flat()).toEqual(whole);
      // Full pages but the last, and no empty one after it.
      expect(pages.map((page) => page.length)).toEqual(
        pages.map((_, i) => Math.min(limit, whole.length - i * limit)),
      );
    }
  });

  test.each(['everything', 'most'])('for the tag "%s" likewise', async (tag) => {
    const step = (space: SearchResult) => -Math.floor(2 * Math.log2(1 + space.participant_count));
    const carrying = current.filter(({ tags }) => tags.some(({ tag_name }) => tag_name === tag));
    const whole = carrying.toReversed().sort((a, b) => step(a) - step(b));
    for (let limit = 1; limit <= 7; limit += 1) {
      const pages = await readPages<SearchResult>(app, tagPath(tag, limit));
      expect(pages.flat()).toEqual(whole);
      expect(pages).toHaveLength(Math.ceil(whole.length / limit));
    }
  });

  test.each([
    ['text', searchPath('cake', 3)],
    ['tag', tagPath('everything', 3)],
  ])('do not repeat what was seen when others come and go: %s', async (_, path) => {
    const before = ids((await readPages<SearchResult>(app, path)).flat());
    const first = await get(path);
    const added: Space[] = [];
    for (const title of ['Cake', 'More cake', 'Something else']) {
      const space = { title, description: 'Cake.', tags: ['everything'] };
      added.push(await createSpace(ann, space));
    }
    const rest = await readPages<SearchResult>(app, first.next as string);
    const after = [...ids(first.body), ...ids(rest.flat())];
    expect(new Set(after).size).toBe(after.length);
    expect(after.filter((id) => !ids(added).includes(id))).toEqual(before);
    for (const { space_id } of added) {
      await api.deleteSpace({ client: ann.client, path: { space_id }, throwOnError: true });
    }
    expect(ids((await readPages<SearchResult>(app, path)).flat())).toEqual(before);
  });

  test('may end early, and even be empty, where many pairs of characters deceive', async () => {
    await using deceptive = await startApp();
    const user = await deceptive.register();
    await createSpace(user, { title: '山川町の声' });
    const { engine } = deceptive.context;
    const creator = await engine.db.selectFrom('users').select('pk').executeTakeFirstOrThrow();
    await engine.db.transaction().execute(async (trx) => {
      for (let i = 0; i < 2_500; i += 1) {
        const { pk } = await trx
          .insertInto('spaces')
          .values({
            ...{ space_id: `s${i}`, creator_pk: creator.pk, title: '川町山川', description: '' },
            ...{ visibility: 'public', invitation_code: null, participant_count: 1 },
            created_at: new Date().toISOString(),
          })
          .returning('pk')
          .executeTakeFirstOrThrow();
        await indexSpace(engine, trx, pk);
      }
    });
    const pages = await readPages<SearchResult>(deceptive, searchPath('山川町', 5));
    expect(pages.flat()).toMatchObject([{ title: '山川町の声' }]);
    expect(pages.length).toBeGreaterThan(1);
    expect(pages.length).toBeLessThan(10);
  });
});

describe('The link to the next page', () => {
  beforeAll(async () => {
    for (const _ of [1, 2]) await createSpace(ann, { title: 'Zigzag', tags: ['<zig>&?#%zag'] });
  });

  test('keeps the query to the letter, whatever is in it', async () => {
    const sign = fc.constantFrom(...'&=#%+?;/"<>\\\'!*()[]{}|^`~:@$, \n\0–…');
    await fc.assert(
      fc.asyncProperty(fc.array(sign, { maxLength: 20 }), async (signs) => {
        const q = `zigzag ${signs.join('')}`;
        const { status, next } = await get(searchPath(q, 1));
        expect(status).toBe(200);
        const { pathname, searchParams } = new URL(next ?? '', app.url);
        expect(pathname).toBe('/api/spaces/search');
        expect(searchParams.get('q')).toBe(q);
        expect(searchParams.get('limit')).toBe('1');
        expect([...searchParams.keys()].sort()).toEqual(['cursor', 'limit', 'q']);
        expect((await get(next as string)).body).toHaveLength(1);
      }),
      { numRuns: 60 },
    );
  });

  test('leads through the folder that a proxy takes off', async () => {
    await using behind = await startApp({ PUBLIC_URL: 'https://example.org/rooms/' });
    const user = await behind.register('behind');
    for (const title of ['Zag', 'Zag too']) await createSpace(user, { title });
    const response = await behind.fetch('/api/spaces/search?q=zag&limit=1');
    expect(response.headers.get('link')).toMatch(/^<\/rooms\/api\/spaces\/search\?q=zag/);
    const own = await behind.fetch('/api/participations?limit=1', { headers: user.headers });
    expect(own.headers.get('link')).toMatch(/^<\/rooms\/api\/participations\?/);
  });

  test('keeps the tag as it was sent', async () => {
    const { body, next } = await get(tagPath('<zig>&?#%zag', 1));
    expect(next).toMatch(/^\/api\/spaces\/tag\/%3Czig%3E%26%3F%23%25zag\?limit=1&cursor=/);
    const last = await get(next as string);
    expect(ids([...body, ...last.body])).toHaveLength(2);
    expect(last.next).toBeUndefined();
  });

  test('stands for the default limit too, and replaces a cursor', async () => {
    for (let i = 0; i < 45; i += 1) await createSpace(ann, { title: 'Numerous' });
    const pages = await readPages<SearchResult>(app, '/api/spaces/search?q=numerous');
    expect(pages.map((page) => page.length)).toEqual([20, 20, 5]);
  });
});

describe('A cursor', () => {
  /** One that each list has issued. */
  const issued: Record<string, string> = {};
  const paths: Record<string, string> = {};
  beforeAll(async () => {
    const [space] = spaces as [Space];
    await join(ann, space);
    for (const text of ['one', 'two']) await send(ann, space, text);
    Object.assign(paths, {
      search: searchPath('tea', 1),
      tag: tagPath('everything', 1),
      messages: `/api/messages?space_id=${space.space_id}&limit=1`,
      participations: '/api/participations?limit=1',
    });
    for (const [list, path] of Object.entries(paths)) {
      const response = await app.fetch(path, list === 'participations' ? ann : {});
      const next = new URL(nextPage(response) as string, app.url);
      issued[list] = next.searchParams.get('cursor') as string;
    }
  });

  const at = async (list: string, cursor: string) => {
    const path = `${paths[list]}&${new URLSearchParams({ cursor })}`;
    const response = await app.fetch(path, list === 'participations' ? ann : {});
    return { status: response.status, body: await response.json() };
  };

  test.each([
    ['search', 'tag'],
    ['search', 'messages'],
    ['search', 'participations'],
    ['tag', 'search'],
    ['tag', 'messages'],
    ['tag', 'participations'],
    ['messages', 'search'],
    ['messages', 'tag'],
    ['participations', 'search'],
    ['participations', 'tag'],
  ])('of the list %s is none of the list %s', async (from, to) => {
    expect((await at(from, issued[from] as string)).status).toBe(200);
    const { status, body } = await at(to, issued[from] as string);
    expect(status).toBe(400);
    expect(body).toMatchObject({
      code: 'invalid_cursor',
      errors: [{ pointer: '?cursor', message: 'is not a cursor of this list' }],
    });
  });

  test.each(['search', 'tag'])(
    'of a %s is taken as it was issued and not otherwise',
    async (list) => {
      const cursor = issued[list] as string;
      for (const other of [
        ...[`${cursor}=`, `${cursor} `, ` ${cursor}`, `${cursor}A`, cursor.slice(1)],
        ...[cursor.slice(0, -1), cursor.toUpperCase(), encodeURIComponent(`${cursor}\n`)],
        Buffer.from(` ${Buffer.from(cursor, 'base64url')}`).toString('base64url'),
        Buffer.from(Buffer.from(cursor, 'base64url')).toString('base64').padEnd(40, '='),
      ]) {
        expect((await at(list, other)).body).toMatchObject({ status: 400, code: 'invalid_cursor' });
      }
    },
  );

  test.each([
    ['search', []],
    ['search', [0, 1, 1]],
    ['search', [0, 1, 1, '', 1]],
    ['search', [-1, 1, 1, '']],
    ['search', [3, 1, 1, '']],
    ['search', [0.5, 1, 1, '']],
    ['search', ['0', 1, 1, '']],
    ['search', [0, '1', 1, '']],
    ['search', [0, 1.5, 1, '']],
    ['search', [0, 2 ** 53, 1, '']],
    ['search', [0, 1, '1', '']],
    ['search', [0, 1, 1.5, '']],
    ['search', [0, 1, 1, 0]],
    ['search', [0, 1, 1, ['a']]],
    ['search', [0, null, 1, '']],
    ['tag', []],
    ['tag', [1]],
    ['tag', [1.5, 1]],
    ['tag', ['1', 1]],
    ['tag', [1, 1, 1]],
    ['tag', [1, 2 ** 53]],
    ['tag', [1, null]],
    ['messages', ['yesterday', 1]],
    ['messages', ['\0', 1]],
    ['messages', ['2026-01-01T00:00:00.000Z', 0.1]],
    ['participations', ['2026-01-01T00:00:00.000Z\0', 1]],
    ['participations', [1, 1]],
  ])('of the list %s is not made of %j', async (list, position) => {
    const { status, body } = await at(list, encodeCursor(position as (string | number)[]));
    expect([status, body.code]).toEqual([400, 'invalid_cursor']);
  });

  test.each(['search', 'tag'])('has a length, in a %s', async (list) => {
    for (const cursor of ['', 'a'.repeat(4097)]) {
      const { status, body } = await at(list, cursor);
      expect(status).toBe(400);
      expect(body).toMatchObject({ errors: [{ pointer: '?cursor' }] });
    }
    expect((await app.fetch(`${paths[list]}&cursor=a&cursor=b`)).status).toBe(400);
  });

  const anything = fc.string({ unit: 'binary', minLength: 1, maxLength: 200 });
  const part = fc.oneof(
    ...[fc.maxSafeInteger(), fc.integer({ min: -1, max: 3 }), fc.double(), anything],
    ...[fc.constant(''), fc.constant(null), fc.array(fc.integer())],
  );
  const cursors = fc.oneof(
    anything,
    fc.base64String({ minLength: 1 }),
    fc.json().map((text) => Buffer.from(text).toString('base64url')),
    fc.array(part, { maxLength: 4 }).map((parts) => encodeCursor(parts as string[])),
    fc
      .tuple(fc.integer({ min: 0, max: 2 }), fc.maxSafeInteger(), fc.maxSafeInteger(), anything)
      .map((position) => encodeCursor(position)),
    fc.tuple(fc.maxSafeInteger(), fc.maxSafeInteger()).map((position) => encodeCursor(position)),
    // One that was issued, with a character changed.
    fc
      .tuple(fc.nat(), fc.constantFrom(...'Aa0_-=+/ '), fc.constantFrom('search', 'tag'))
      .map(([i, sign, list]) => {
        const cursor = issued[list] as string;
        const place = i % cursor.length;
        return cursor.slice(0, place) + sign + cursor.slice(place + 1);
      }),
  );

  test.each(['search', 'tag', 'messages', 'participations'])(
    'of any kind leads the list %s to a page or to 400',
    async (list) => {
      const statuses = new Set<number>();
      await fc.assert(
        fc.asyncProperty(cursors, async (cursor) => {
          const { status, body } = await at(list, cursor);
          statuses.add(status);
          if (status === 200) expect(body.length).toBeLessThanOrEqual(1);
          else expect([status, body.code]).toEqual([400, 'invalid_cursor']);
        }),
        { numRuns: 150 },
      );
      expect(statuses).toContain(400);
      if (list === 'search' || list === 'tag') expect(statuses).toContain(200);
    },
  );
});

describe('Whatever is searched for', () => {
  /** Well-formed text of at most 200 code points, with what has a meaning somewhere. */
  const piece = fc.constantFrom(
    ...['"', "'", '*', '-', '^', '(', ')', ':', '+', '#', '.', '%', '_', '\\', '\0', '\n', ' '],
    ...['AND', 'OR', 'NOT', 'NEAR(', 'words:', '""', 'tea', 'c++', '.net', '茶道', '🫖', '👩‍💻'],
    ...['\u200D', '\u0301', '\uFE0F', '\u{E0041}', 'ß', 'İ', 'ﷺ', '\uFFFF', '\u{10FFFF}', '½', 'ｱ'],
  );
  const text = fc
    .oneof(
      fc.string({ unit: 'binary', maxLength: 200 }),
      fc.string({ unit: 'grapheme', maxLength: 200 }),
      fc.string({ unit: piece, maxLength: 60 }),
    )
    .map((string) => Array.from(string).slice(0, 200).join(''));

  test('is answered with results, as text', async () => {
    await fc.assert(
      fc.asyncProperty(text, async (q) => {
        const { status, next } = await get(searchPath(q, 3));
        expect(status).toBe(200);
        if (next) expect((await get(next)).status).toBe(200);
      }),
      { numRuns: 250 },
    );
  });

  test('is answered with results, as a tag', async () => {
    await fc.assert(
      fc.asyncProperty(text, async (tag) => {
        // A client takes these for steps in the path.
        fc.pre(!['', '.', '..'].includes(tag));
        expect((await get(tagPath(tag, 3))).status).toBe(200);
      }),
      { numRuns: 200 },
    );
  });

  test('is answered with results, or with 400 if it is not encoded well', async () => {
    const encodedPart = fc.constantFrom(
      ...['%', '%2', '%zz', '%00', '%FF', '%C0%80', '%ED%A0%80', '%ED%B0%80', '%F4%90%80%80'],
      ...['%E6%9D%B1', '%F0%9F%AB%96', '%E6%9D', '%25', '%2F', '%26', 'tea', '+', '.', '~'],
    );
    await fc.assert(
      fc.asyncProperty(fc.array(encodedPart, { minLength: 1, maxLength: 8 }), async (parts) => {
        const encoded = parts.join('');
        fc.pre(!/^\.+$/.test(encoded));
        const expected = isDecodable(encoded) ? 200 : 400;
        expect((await get(`/api/spaces/search?q=${encoded}`)).status).toBe(expected);
        expect((await get(`/api/spaces/tag/${encoded}`)).status).toBe(expected);
      }),
      { numRuns: 200 },
    );
  });

  const isDecodable = (encoded: string) => {
    try {
      decodeURIComponent(encoded);
      return true;
    } catch {
      return false;
    }
  };
});
