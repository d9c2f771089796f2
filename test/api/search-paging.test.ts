import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import type { SearchResult, Space } from '../../generated/types.gen.ts';
import { operations } from '../../server/contract.ts';
import { sealCursor } from '../../server/http/cursors.ts';
import { indexSpace } from '../../server/search/documents.ts';
import { matches, queryWords } from '../../server/text/words/query.ts';
import { titleKey } from '../../server/text/words/tokenize.ts';
import { startApp, type TestApp, type TestUser } from '../support/app.ts';
import { waitForDictionary } from '../support/dictionary.ts';
import { nextPage, readPages } from '../support/pages.ts';
import { head, sendRaw } from '../support/raw.ts';
import { exampleRequest, inputNamesOf } from '../support/requests.ts';
import { createSpace, joinSpace, sendMessage } from '../support/spaces.ts';

let app: TestApp;
let ann: TestUser;
let guests: TestUser[];
/** All spaces with these titles, the oldest first. */
const spaces: Space[] = [];

const TITLES = [
  'Tea',
  'tea!',
  'Green tea',
  'Teahouse',
  'Tea & cake',
  'Cake',
  'Coffee',
  'Tea tasting',
  '茶道',
  '茶道と花道',
  '道茶',
  '花道 茶道',
  'Teacher’s cake',
  'Ｔｅａ',
  'Tastes',
  'House of tea',
];
const DESCRIPTIONS = ['', 'Tea for everyone.', 'With cake and 茶道.', '道茶道', 'No teabags.'];

beforeAll(async () => {
  app = await startApp();
  ann = await app.register('ann');
  guests = await Promise.all(Array.from({ length: 22 }, () => app.register()));
  for (const [i, title] of [...TITLES, ...TITLES, ...TITLES, ...TITLES].entries()) {
    const space = await createSpace(i % 3 ? ann : (guests[0] as TestUser), {
      title,
      description: DESCRIPTIONS[(i * 7) % DESCRIPTIONS.length] as string,
      tags: i % 4 ? ['everything', 'most'] : ['everything'],
    });
    // Some spaces are so popular that they come before others with the word in the title.
    const popularity = i % 9 === 4 ? guests.length : (i * 11) % 6;
    for (const guest of guests.slice(0, popularity)) await joinSpace(guest, space);
    spaces.push(space);
  }
  await waitForDictionary(app);
});
afterAll(() => app[Symbol.asyncDispose]());

const ids = (results: Pick<Space, 'space_id'>[]) => results.map(({ space_id }) => space_id);

const searchPath = (q: string, limit: number, asTyped = false) => {
  const parameters = new URLSearchParams({ q, limit: String(limit) });
  if (asTyped) parameters.set('as_typed', 'true');
  return `/api/spaces/search?${parameters}`;
};
const tagPath = (tag: string, limit: number) =>
  `/api/spaces/tag/${encodeURIComponent(tag)}?limit=${limit}`;

const get = async (path: string) => {
  const response = await app.fetch(path);
  return { status: response.status, body: await response.json(), next: nextPage(response) };
};

describe('The pages of a search', () => {
  interface Query {
    q: string;
    /** The query with joined words. */
    joined?: string;
    /** The query with an inflected form. */
    inflected?: string;
    /** The alternatives of each word of the other query. */
    other?: string[][];
  }
  const queries: Query[] = [
    { q: 'tea' },
    { q: 'TEA!' },
    { q: 'cake tea' },
    { q: 't' },
    { q: '茶道' },
    { q: '茶' },
    { q: '茶道 cake' },
    { q: 'green' },
    { q: 'tea house', joined: 'teahouse' },
    { q: 'tasting', inflected: 'tastes' },
    { q: 'teehouse', other: [['teahouse']] },
    { q: 'green teas', inflected: 'green tea' },
    { q: 'with tea cake', other: [['tea'], ['cake']] },
    { q: 'the teahouse', other: [['teahouse']] },
    { q: 'tea qqqq', other: [['tea']] },
    { q: '道茶道花', other: [['道'], ['茶道'], ['花']] },
  ];

  /** Returns the results of a query by the rules in docs/search.md, without an index. */
  const expected = (
    { q, joined, inflected, other }: Query,
    all: SearchResult[],
    asTyped = false,
  ): SearchResult[] => {
    const variants = [q, joined, asTyped ? undefined : inflected]
      .filter((each) => each !== undefined)
      .map((each) => queryWords(each));
    const isTyped = (text: string) => variants.some((words) => matches(words, text));
    const isOther = (text: string) =>
      other?.every((texts) => texts.some((each) => matches(queryWords(each), text))) ?? false;
    const textOf = ({ title, description }: SearchResult) => `${title}\n${description}`;
    const steps = ({ participant_count }: SearchResult) =>
      Math.floor(2 * Math.log2(1 + participant_count));
    const order = (section: SearchResult[], isMatch: (text: string) => boolean) => {
      const rank = (space: SearchResult) => steps(space) + (isMatch(space.title) ? 6 : 0);
      return section.toReversed().sort((a, b) => rank(b) - rank(a));
    };
    const isTitle = (text: string | undefined, { title }: SearchResult) =>
      text !== undefined && titleKey(title) === titleKey(text);
    const exactTitles = all.filter((space) => isTitle(q, space) || isTitle(joined, space));
    const typed = all.filter((space) => !exactTitles.includes(space) && isTyped(textOf(space)));
    const found = [...order(exactTitles, () => true), ...order(typed, isTyped)];
    if (found.length >= 10 || asTyped) return found;
    const rest = all.filter((space) => !found.includes(space) && isOther(textOf(space)));
    const probable = other?.map(([text]) => text).join(' ');
    const otherTitles = rest.filter((space) => isTitle(probable, space));
    const others = rest.filter((space) => !otherTitles.includes(space));
    return [...found, ...order(otherTitles, () => true), ...order(others, isOther)];
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

  test.each(queries)('for "$q" follow the documented rules', async (query) => {
    const { q } = query;
    const { body } = await get(searchPath(q, 100));
    expect(body).toEqual(expected(query, current));
    expect(body.length).toBeGreaterThan(3);
    const { body: typed } = await get(searchPath(q, 100, true));
    expect(typed).toEqual(expected(query, current, true));
  });

  test('cover every section', () => {
    const lengths = queries.map((query) => {
      const all = expected(query, current);
      const typed = expected(query, current, true);
      return { all: all.length, typed: typed.length };
    });
    expect(lengths.some(({ all, typed }) => all > typed && typed > 0)).toBe(true);
    expect(lengths.some(({ all, typed }) => all > typed && typed === 0)).toBe(true);
    expect(lengths.some(({ all, typed }) => all === typed && typed < 10)).toBe(true);
    const hasTitleMatch = expected({ q: 'tea' }, current).map(({ title }) =>
      /tea|ｔｅａ/i.test(title),
    );
    expect(hasTitleMatch.lastIndexOf(true)).toBeGreaterThan(hasTitleMatch.indexOf(false));
  });

  test.each(queries)('for "$q" form the whole list, without repeats or gaps', async ({ q }) => {
    for (const asTyped of [false, true]) {
      const whole = (await get(searchPath(q, 100, asTyped))).body;
      for (let limit = 1; limit <= 7; limit += 1) {
        const pages = await readPages<SearchResult>(app, searchPath(q, limit, asTyped));
        expect(pages.flat()).toEqual(whole);
        // Only the last page may be shorter, and a page is empty only if the list is.
        expect(pages.map((page) => page.length)).toEqual(
          pages.map((_, i) => Math.min(limit, whole.length - i * limit)),
        );
        expect(pages).toHaveLength(Math.max(1, Math.ceil(whole.length / limit)));
      }
    }
  });

  test.each(['everything', 'most'])(
    'for the tag "%s" form the whole list in order',
    async (tag) => {
      const step = (space: SearchResult) => -Math.floor(2 * Math.log2(1 + space.participant_count));
      const tagged = current.filter(({ tags }) => tags.some(({ tag_name }) => tag_name === tag));
      const whole = tagged.toReversed().sort((a, b) => step(a) - step(b));
      for (let limit = 1; limit <= 7; limit += 1) {
        const pages = await readPages<SearchResult>(app, tagPath(tag, limit));
        expect(pages.flat()).toEqual(whole);
        expect(pages).toHaveLength(Math.ceil(whole.length / limit));
      }
    },
  );

  test.each([
    ['text', searchPath('cake', 3)],
    ['text as typed', searchPath('cake', 3, true)],
    ['text of another query', searchPath('cakke', 3)],
    ['text of both queries', searchPath('tasting', 3)],
    ['tag', tagPath('everything', 3)],
  ])('contain no space twice when other spaces are created meanwhile: %s', async (_, path) => {
    const before = ids((await readPages<SearchResult>(app, path)).flat());
    const first = await get(path);
    const added: Space[] = [];
    for (const title of ['Cake', 'More cake', 'Something else', 'Tasting', 'Taste', 'Cakke']) {
      const space = { title, description: 'Cake.', tags: ['everything'] };
      added.push(await createSpace(ann, space));
    }
    await waitForDictionary(app);
    const rest = await readPages<SearchResult>(app, first.next as string);
    const after = [...ids(first.body), ...ids(rest.flat())];
    expect(new Set(after).size).toBe(after.length);
    expect(after.filter((id) => !ids(added).includes(id))).toEqual(before);
    for (const { space_id } of added) {
      await api.deleteSpace({ client: ann.client, path: { space_id }, throwOnError: true });
    }
    await waitForDictionary(app);
    expect(ids((await readPages<SearchResult>(app, path)).flat())).toEqual(before);
  });

  test('may be short or empty if many spaces have the pairs of characters but not the word', async () => {
    await using other = await startApp();
    const user = await other.register();
    await createSpace(user, { title: '山川町の声' });
    const { engine } = other.context;
    const creator = await engine.db.selectFrom('users').select('pk').executeTakeFirstOrThrow();
    await engine.db.transaction().execute(async (trx) => {
      for (let i = 0; i < 2_500; i += 1) {
        const { pk } = await trx
          .insertInto('spaces')
          .values({
            space_id: `s${i}`,
            creator_pk: creator.pk,
            title: '川町山川',
            description: '',
            visibility: 'public',
            invitation_code: null,
            participant_count: 1,
            created_at: new Date().toISOString(),
          })
          .returning('pk')
          .executeTakeFirstOrThrow();
        await indexSpace(engine, trx, pk);
      }
    });
    const pages = await readPages<SearchResult>(other, searchPath('山川町', 5, true));
    expect(pages.flat()).toMatchObject([{ title: '山川町の声' }]);
    expect(pages.length).toBeGreaterThan(1);
    // Each page rejects 500 rows. Each space is read twice: for its title, and for its title with its description.
    expect(pages.length).toBeLessThan(15);
    // The other query finds its parts in any order, and so all spaces.
    const all = (await readPages<SearchResult>(other, searchPath('山川町', 100))).flat();
    expect(new Set(ids(all)).size).toBe(2_501);
    expect(all).toHaveLength(2_501);
  });
});

describe('The link to the next page', () => {
  beforeAll(async () => {
    for (const _ of [1, 2]) await createSpace(ann, { title: 'Zigzag', tags: ['<zig>&?#%zag'] });
  });

  test('contains the unchanged query, for any characters', async () => {
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

  test('contains the path prefix that a proxy removes', async () => {
    await using behind = await startApp({ PUBLIC_URL: 'https://example.org/rooms/' });
    const user = await behind.register('behind');
    for (const title of ['Zag', 'Zag too']) await createSpace(user, { title });
    const response = await behind.fetch('/api/spaces/search?q=zag&limit=1');
    expect(response.headers.get('link')).toMatch(/^<\/rooms\/api\/spaces\/search\?q=zag/);
    const own = await behind.fetch('/api/participations?limit=1', { headers: user.headers });
    expect(own.headers.get('link')).toMatch(/^<\/rooms\/api\/participations\?/);
  });

  test.each([
    ...['http://evil.example', 'https://evil.example:8443', 'HTTP://evil.example'],
    ...['http://ann@evil.example', 'http://evil.example?', 'http://evil.example#', 'http://'],
    ...['//evil.example', '/\\evil.example', '/.//evil.example', 'evil.example'],
  ])('never leads to another host: %s', async (prefix) => {
    const query = 'q=zigzag&limit=1';
    for (const path of [`/api/spaces/search?${query}`, tagPath('<zig>&?#%zag', 1)]) {
      const request = head('GET', prefix + path, { Host: 'evil.example' });
      const response = await sendRaw(app.url, request);
      expect([200, 400, 404]).toContain(response?.status);
      if (response?.status !== 200) continue;
      const link = response.headers.get('link') ?? '';
      expect(link.startsWith(`<${path.split('?')[0]}?`), link).toBe(true);
    }
  });

  test('is the same for a request target in absolute form', async () => {
    const path = '/api/spaces/search?q=zigzag&limit=1';
    const linkFor = async (target: string) =>
      (await sendRaw(app.url, head('GET', target)))?.headers.get('link');
    expect(await linkFor(`http://evil.example${path}`)).toBe(await linkFor(path));
  });

  test('contains the unchanged tag', async () => {
    const { body, next } = await get(tagPath('<zig>&?#%zag', 1));
    expect(next).toMatch(/^\/api\/spaces\/tag\/%3Czig%3E%26%3F%23%25zag\?limit=1&cursor=/);
    const last = await get(next as string);
    expect(ids([...body, ...last.body])).toHaveLength(2);
    expect(last.next).toBeUndefined();
  });

  test('works without a limit, and replaces the cursor', async () => {
    for (let i = 0; i < 45; i += 1) await createSpace(ann, { title: 'Numerous' });
    const pages = await readPages<SearchResult>(app, '/api/spaces/search?q=numerous');
    expect(pages.map((page) => page.length)).toEqual([20, 20, 5]);
  });
});

describe('A cursor', () => {
  const MISSPELLING = 'teehouse';
  const listOperations = operations.filter((each) => inputNamesOf(each).includes('limit'));
  /** The lists of all operations, and two other lists of searchSpaces. */
  const lists = [...listOperations.map(({ operationId }) => operationId), 'corrected', 'as typed'];
  /** The path of each list. */
  const paths: Record<string, string> = {};
  /** The cursor on the first page of each list. */
  const issued: Record<string, string> = {};

  const cursorOf = (path: string | undefined) =>
    new URL(path as string, app.url).searchParams.get('cursor') as string;

  beforeAll(async () => {
    const [space, other] = spaces as [Space, Space];
    for (const each of [space, other]) {
      await joinSpace(ann, each);
      for (const text of ['one', 'two']) await sendMessage(ann, each, text);
    }
    // `ann` created the second space.
    for (const guest of guests.slice(0, 2)) {
      await joinSpace(guest, other);
      const path = { space_id: other.space_id, user_id: guest.userId };
      await api.removeParticipant({ client: ann.client, path, throwOnError: true });
    }
    // A second session, so that their list has two items.
    const { email, password } = ann;
    await api.login({ client: app.client(), body: { email, password }, throwOnError: true });
    for (const operation of listOperations) {
      const { space_id } = operation.operationId === 'listRemovals' ? other : space;
      const values = { q: 'tea', tag: 'everything', space_id };
      const { url } = exampleRequest(operation, values);
      paths[operation.operationId] = `${url}${url.includes('?') ? '&' : '?'}limit=1`;
    }
    paths.corrected = searchPath(MISSPELLING, 1);
    paths['as typed'] = searchPath('tea', 1, true);
    for (const list of lists) {
      const { status, next } = await read(list);
      expect({ list, status, next }).toEqual({ list, status: 200, next: expect.any(String) });
      issued[list] = cursorOf(next);
    }
  });

  const operationOf = (list: string) =>
    listOperations.find(({ operationId }) => operationId === list);

  /** Requests a list, with a token if it requires one. */
  const read = async (list: string, path = paths[list] as string) => {
    const needsToken = operationOf(list)?.authentication === 'required';
    const response = await app.fetch(path, needsToken ? ann : {});
    return { status: response.status, body: await response.json(), next: nextPage(response) };
  };
  const at = (list: string, cursor: string, path = paths[list] as string) =>
    read(list, `${path}&${new URLSearchParams({ cursor })}`);

  const expectRejected = ({ status, body }: { status: number; body: unknown }) => {
    expect(status).toBe(400);
    expect(body).toMatchObject({
      code: 'invalid_cursor',
      errors: [{ pointer: '?cursor', message: 'is not a cursor of this list' }],
    });
  };

  test.each(lists)('of the list "%s" is rejected by all other lists', async (from) => {
    const cursor = issued[from] as string;
    for (const to of lists) {
      const answer = await at(to, cursor);
      if (to === from) expect(answer).toMatchObject({ status: 200, body: [expect.anything()] });
      else expectRejected(answer);
    }
  });

  test('is rejected with other parameters', async () => {
    const [, other] = spaces as [Space, Space];
    for (const [list, path] of [
      ['searchSpaces', searchPath('cake', 1)],
      ['searchSpaces', searchPath('TEA', 1)],
      ['searchSpaces', searchPath('tea ', 1)],
      ['searchSpaces', searchPath('tea', 1, true)],
      ['corrected', searchPath('teahouse', 1)],
      ['corrected', searchPath(MISSPELLING, 1, true)],
      ['as typed', searchPath('tea', 1)],
      ['as typed', `${searchPath('tea', 1)}&as_typed=false`],
      ['searchSpacesByTag', tagPath('most', 1)],
      ['searchSpacesByTag', tagPath('Everything', 1)],
      ['listMessages', `/api/messages?space_id=${other.space_id}&limit=1`],
      ['listParticipants', `/api/participants?space_id=${other.space_id}&limit=1`],
    ] as const) {
      expect((await read(list, path)).status).toBe(200);
      expectRejected(await at(list, issued[list] as string, path));
    }
  });

  test('does not depend on the limit, the order of parameters, or explicit defaults', async () => {
    const second = (await get(searchPath('tea', 2))).body[1];
    const encoded = encodeURIComponent(issued.searchSpaces as string);
    for (const parameters of [
      `q=tea&limit=1&cursor=${encoded}`,
      `limit=1&cursor=${encoded}&q=tea`,
      `q=tea&limit=7&cursor=${encoded}`,
      `q=tea&cursor=${encoded}`,
      `q=%74ea&limit=100&cursor=${encoded}`,
      `q=tea&as_typed=false&limit=1&cursor=${encoded}`,
    ]) {
      const { status, body } = await get(`/api/spaces/search?${parameters}`);
      expect(status).toBe(200);
      expect(body[0]).toEqual(second);
    }
    const { body } = await get(`${tagPath('everything', 3)}&cursor=${issued.searchSpacesByTag}`);
    expect(body).toHaveLength(3);
  });

  test.each(lists)('of the list "%s" is rejected after any change', async (list) => {
    const cursor = issued[list] as string;
    const bytes = Buffer.from(cursor, 'base64url');
    const altered = Array.from(bytes, (_, i) => {
      const copy = Buffer.from(bytes);
      copy[i] = (copy[i] as number) ^ (1 << (i % 8));
      return copy;
    });
    for (const other of [
      `${cursor}=`,
      `${cursor} `,
      ` ${cursor}`,
      `${cursor}A`,
      `${cursor}.`,
      cursor.slice(1),
      cursor.slice(0, -1),
      cursor.toUpperCase(),
      encodeURIComponent(`${cursor}\n`),
      Buffer.from(` ${cursor}`).toString('base64url'),
      `${cursor}${cursor}`,
      bytes.toString('base64').padEnd(cursor.length + 1, '='),
      ...altered.map((each) => each.toString('base64url')),
    ]) {
      expectRejected(await at(list, other));
    }
  });

  test.each([
    [],
    [1],
    ['a'],
    [null],
    [0, 1],
    [0, 1, 1],
    [0, 1, 1, []],
    [0, 1, 1, [], []],
    [2, 0, 1e9],
    [1, -1, 1e9, [0], [['tea']]],
    ['2026-01-01T00:00:00.000Z', 1],
    ['2026-01-01T00:00:00.000Z', 0.1],
  ])('is rejected if a client made it from the position %j', async (...position) => {
    const text = JSON.stringify(position);
    const unsealed = [text, Buffer.from(text).toString('base64url')];
    for (const list of lists) {
      const operation = operationOf(list)?.operationId ?? 'searchSpaces';
      const sealed = ['', operation, paths[list] as string].map((each) =>
        sealCursor(new Uint8Array(32), each, position as string[]),
      );
      for (const cursor of [...unsealed, ...sealed]) expectRejected(await at(list, cursor));
    }
  });

  test('of another database is rejected', async () => {
    await using foreign = await startApp();
    const user = await foreign.register();
    for (const _ of [1, 2]) await createSpace(user, { title: 'Tea', tags: ['everything'] });
    for (const list of ['searchSpaces', 'searchSpacesByTag']) {
      const response = await foreign.fetch(paths[list] as string);
      const cursor = cursorOf(nextPage(response));
      const own = await foreign.fetch(`${paths[list]}&cursor=${cursor}`);
      expect(await own.json()).toHaveLength(1);
      expectRejected(await at(list, cursor));
    }
  });

  test('contains no readable data', async () => {
    const { db } = app.context.engine;
    const rows = await db.selectFrom('public_spaces').select(['key', 'space_pk']).execute();
    const messages = await db.selectFrom('messages').select('created_at').execute();
    const { value } = await db
      .selectFrom('search_revision')
      .select('value')
      .executeTakeFirstOrThrow();
    const numbers = [value, ...rows.flatMap(({ key, space_pk }) => [key, space_pk])];
    const secrets = [
      ...numbers.filter((number) => number > 999).map((number) => Buffer.from(String(number))),
      ...rows.map(({ key }) => {
        const bytes = Buffer.alloc(8);
        bytes.writeBigUInt64BE(BigInt(key));
        return bytes.subarray(2);
      }),
      ...messages.map(({ created_at }) => Buffer.from(created_at)),
      ...['teahouse', '[', '"'].map((text) => Buffer.from(text)),
    ];
    expect(secrets.length).toBeGreaterThan(100);
    const pages = await Promise.all(lists.map((list) => at(list, issued[list] as string)));
    const cursors = [
      ...Object.values(issued),
      ...pages.flatMap(({ next }) => cursorOf(next) ?? []),
    ];
    for (const cursor of cursors) {
      const bytes = Buffer.from(cursor, 'base64url');
      // Short texts occur in random bytes by chance, so they are only searched at the beginning of the content.
      expect(bytes.subarray(12, 14).toString('latin1')).not.toMatch(/^\[[\d"-]/);
      for (const secret of secrets.filter(({ length }) => length > 3)) {
        expect(bytes.includes(secret)).toBe(false);
        expect(cursor.includes(secret.toString())).toBe(false);
      }
    }
    expect(new Set(cursors).size).toBe(cursors.length);
  });

  test('is the same whenever the same page is requested', async () => {
    await waitForDictionary(app);
    for (const list of lists) {
      const [first, second] = [await read(list), await read(list)];
      expect(cursorOf(second.next)).toBe(cursorOf(first.next));
    }
  });

  test.each(lists)('of the list "%s" has a minimum and a maximum length', async (list) => {
    for (const cursor of ['', 'a'.repeat(4097)]) {
      const { status, body } = await at(list, cursor);
      expect(status).toBe(400);
      expect(body).toMatchObject({ errors: [{ pointer: '?cursor' }] });
    }
    expect((await read(list, `${paths[list]}&cursor=a&cursor=b`)).status).toBe(400);
  });

  const anything = fc.string({ unit: 'binary', minLength: 1, maxLength: 200 });
  const forged = fc.oneof(
    anything,
    fc.base64String({ minLength: 1 }),
    fc.json().map((text) => Buffer.from(text).toString('base64url')),
    fc
      .uint8Array({ minLength: 1, maxLength: 120 })
      .map((bytes) => Buffer.from(bytes).toString('base64url')),
    fc
      .tuple(fc.uint8Array({ minLength: 32, maxLength: 32 }), fc.array(fc.maxSafeInteger()))
      .map(([key, position]) => sealCursor(key, '["searchSpaces",[["q","tea"]]]', position)),
    // An issued cursor with one changed character.
    fc
      .tuple(fc.nat(), fc.constantFrom(...'Aa0_-=+/ '), fc.constantFrom(...lists))
      .map(([i, character, list]) => {
        const cursor = issued[list] as string;
        const place = i % cursor.length;
        return cursor.slice(0, place) + character + cursor.slice(place + 1);
      })
      .filter((cursor) => !Object.values(issued).includes(cursor)),
  );

  test.each(lists)('is rejected by the list "%s" if it is forged', async (list) => {
    await fc.assert(
      fc.asyncProperty(forged, async (cursor) => {
        const { status, body } = await at(list, cursor);
        expect([status, body.code]).toEqual([400, 'invalid_cursor']);
      }),
      { numRuns: 150 },
    );
  });
});

describe('Any text', () => {
  /** Texts that have a meaning in SQL, FTS5, JSON, URLs or Unicode. */
  const piece = fc.constantFrom(
    ...'"\'*-^():+#.%_\\\0\n ',
    ...'\u200D\u0301\uFE0F\u{E0041}ßİﷺ\uFFFF\u{10FFFF}½ｱ',
    ...'AND OR NOT NEAR( words: "" tea c++ .net 茶道 🫖 👩‍💻'.split(' '),
  );
  /** Well-formed text of at most 200 code points. */
  const text = fc
    .oneof(
      fc.string({ unit: 'binary', maxLength: 200 }),
      fc.string({ unit: 'grapheme', maxLength: 200 }),
      fc.string({ unit: piece, maxLength: 60 }),
    )
    .map((string) => Array.from(string).slice(0, 200).join(''));

  test('gets 200 from the text search', async () => {
    await fc.assert(
      fc.asyncProperty(text, async (q) => {
        const { status, next } = await get(searchPath(q, 3));
        expect(status).toBe(200);
        if (next) expect((await get(next)).status).toBe(200);
      }),
      { numRuns: 250 },
    );
  });

  test('gets 200 from the tag search', async () => {
    await fc.assert(
      fc.asyncProperty(text, async (tag) => {
        // URL parsers resolve these as relative path segments.
        fc.pre(!['', '.', '..'].includes(tag));
        expect((await get(tagPath(tag, 3))).status).toBe(200);
      }),
      { numRuns: 200 },
    );
  });

  test('gets 200, or 400 if it is not percent-encoded UTF-8', async () => {
    const encodedPart = fc.constantFrom(
      ...'% %2 %zz %00 %FF %C0%80 %ED%A0%80 %ED%B0%80 %F4%90%80%80'.split(' '),
      ...'%E6%9D%B1 %F0%9F%AB%96 %E6%9D %25 %2F %26 tea + . ~'.split(' '),
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
