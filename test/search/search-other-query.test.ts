import { beforeAll, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import type { SearchResult, Space } from '../../generated/types.gen.ts';
import type { TestUser } from '../support/client.ts';
import { buildDictionary } from '../support/dictionary.ts';
import { nextPage, readPages } from '../support/pages.ts';
import { createSpace } from '../support/spaces.ts';
import { useApp } from '../support/use-app.ts';

// `buildDictionary` replaces maintenance.
const app = useApp({}, { runsMaintenance: false });
let ann: TestUser;

beforeAll(async () => {
  ann = await app.register('ann');
  for (const [title, description] of [
    ['Astronomy for beginners', 'Telescopes and patience.'],
    ['Astronomy club', 'We meet at new moon.'],
    ['Stars', 'Everything about astronomy and photography.'],
    ['Boats', 'Sails and knots'],
    ['Boats of the world', 'From junk to dhow'],
    ['Boots', 'For muddy paths'],
    ['Wi Fi meteorology', 'Weather over the air'],
    ['Mars2020 rover', ''],
    ['Sourdough bread', ''],
    ['東京駅の写真', ''],
    ['Астрономия для всех', 'Звёзды'],
    ['हिन्दुस्तानी संगीत', ''],
    ['Übung macht den Meister', ''],
  ] as const) {
    await createSpace(ann, { title, description, tags: ['mallets'] });
  }
  await buildDictionary(app);
});

const titles = (results: Pick<SearchResult, 'title'>[]) => results.map(({ title }) => title);

const pathOf = (q: string, parameters: Record<string, string> = {}) =>
  `/api/spaces/search?${new URLSearchParams({ q, ...parameters })}`;

/** Returns the titles of the results, and the other query. */
const search = async (q: string, parameters: Record<string, string> = {}) => {
  const response = await app.fetch(pathOf(q, { limit: '100', ...parameters }));
  expect(response.status).toBe(200);
  return { found: titles(await response.json()), answered: answeredQuery(response) };
};

/** Returns the decoded `Answered-Query` header; null without one. */
const answeredQuery = ({ headers }: Response) => {
  const header = headers.get('answered-query');
  if (header === null) return null;
  expect(header).toMatch(/^(?:[\w\-.!~*'()]|%[0-9A-F]{2})+$/);
  return decodeURIComponent(header);
};

const create = async (title: string, count = 1) => {
  for (let i = 0; i < count; i += 1) await createSpace(ann, { title });
};

const change = ({ space_id }: Space, body: { visibility?: 'public' | 'private'; title?: string }) =>
  api.updateSpace({ client: ann.client, path: { space_id }, body, throwOnError: true });

const astronomy = ['Astronomy club', 'Astronomy for beginners', 'Stars'];
const nothing = { found: [], answered: null };

describe('Inflected forms of a word', () => {
  test('are also found, but only as whole words that the dictionary contains', async () => {
    await create('A cherry');
    await create('Two cherries');
    expect(await search('cherries')).toEqual({ found: ['Two cherries'], answered: null });
    await create('A cherrypicker');
    await buildDictionary(app);
    const both = ['Two cherries', 'A cherry'];
    expect(await search('cherries')).toEqual({ found: both, answered: null });
    const all = { found: ['A cherrypicker', ...both], answered: null };
    expect(await search('cherry')).toEqual(all);
  });
});

describe('Adjacent words that are a known word when joined', () => {
  test('are also found joined, and a title that then equals the query comes first', async () => {
    await create('Moonlight keyboards');
    await create('Keyboards in the moonlight');
    await buildDictionary(app);
    const found = ['Moonlight keyboards', 'Keyboards in the moonlight'];
    expect(await search('moon light key boards')).toEqual({ found, answered: null });
  });
});

describe('Another query', () => {
  test('drops a run of an unspaced script that no space contains, although spaces contain its bigrams', async () => {
    await create('プログラ');
    await create('グラム');
    await buildDictionary(app);
    const expected = { found: astronomy, answered: 'astronomy' };
    expect(await search('プログラム astronomy')).toEqual(expected);
  });

  test('adds its results after those of the query as typed', async () => {
    await create('Fishing for the carp');
    await create('Fishing for carp');
    await buildDictionary(app);
    expect(await search('the carp')).toEqual({
      found: ['Fishing for the carp', 'Fishing for carp'],
      answered: 'carp',
    });
    expect(await search('carp')).toEqual({
      found: ['Fishing for carp', 'Fishing for the carp'],
      answered: null,
    });
  });

  test('prefers the more frequent of two corrections with equally many edits', async () => {
    // Words of titles that are as similar match, too.
    expect(await search('boets')).toEqual({
      found: ['Boats', 'Boots', 'Boats of the world'],
      answered: 'boats',
    });
    await create('Boots again', 3);
    await buildDictionary(app);
    expect(await search('boets')).toEqual({
      found: ['Boots', 'Boots again', 'Boots again', 'Boots again', 'Boats of the world', 'Boats'],
      answered: 'boots',
    });
    // In a query of several words, several corrections are alternatives.
    expect((await search('boets world')).found).toEqual(['Boats of the world']);
  });

  test('corrects a word only if 20 times as many spaces have the correction, even in cached responses', async () => {
    await create('My kettel');
    await create('Kettle', 19);
    await buildDictionary(app);
    // Not corrected, but these words begin alike.
    const few = { found: ['My kettel', ...Array(19).fill('Kettle')], answered: null };
    expect([await search('kettel'), await search('kettel')]).toEqual([few, few]);
    await create('Kettle');
    await buildDictionary(app);
    const many = { found: ['My kettel', ...Array(20).fill('Kettle')], answered: 'kettle' };
    expect([await search('kettel'), await search('kettel')]).toEqual([many, many]);
  });

  test('is followed by spaces with at least two of its words if it has few results, for any limit', async () => {
    await create('Repair a roof with slate', 2);
    await create('Slate repair', 3);
    await create('Slate roof', 2);
    await create('Terrace roof', 9);
    await buildDictionary(app);
    const found = [
      ...Array(2).fill('Repair a roof with slate'),
      ...Array(2).fill('Slate roof'),
      ...Array(3).fill('Slate repair'),
    ];
    for (const limit of [1, 2, 3, 4, 5, 6, 7, 100]) {
      const path = pathOf('how to repair my slate roof', { limit: String(limit) });
      const pages = await readPages<SearchResult>(app, path);
      expect(titles(pages.flat())).toEqual(found);
      expect(answeredQuery(await app.fetch(path))).toBe('repair slate roof');
    }
  });

  test('is used only if fewer than ten spaces match as typed, for any limit', async () => {
    await create('The library', 9);
    await create('A library', 3);
    await buildDictionary(app);
    const limits = [1, 2, 8, 9, 10, 11, 12, 100];
    const read = async (limit: number) => {
      const path = pathOf('the library', { limit: String(limit) });
      const response = await app.fetch(path);
      const pages = await readPages<SearchResult>(app, path);
      return { answered: answeredQuery(response), found: titles(pages.flat()) };
    };
    const nine = Array(9).fill('The library');
    for (const limit of limits) {
      const found = [...nine, ...Array(3).fill('A library')];
      expect(await read(limit)).toEqual({ answered: 'library', found });
    }
    await create('The library');
    await buildDictionary(app);
    for (const limit of limits) {
      expect(await read(limit)).toEqual({ answered: null, found: [...nine, 'The library'] });
    }
  });

  test('stays the same on later pages after a space with the typed word is created', async () => {
    const first = await app.fetch(pathOf('asttronomy', { limit: '1' }));
    expect(titles(await first.json())).toEqual([astronomy[0]]);
    await create('Asttronomy');
    await create('Astronomy now');
    await buildDictionary(app);
    const rest = await readPages<SearchResult>(app, nextPage(first) as string);
    expect(rest.flat().map(({ title }) => title)).toEqual(astronomy.slice(1));
    expect(await search('asttronomy')).toEqual({ found: ['Asttronomy'], answered: null });
  });

  test('never contains words that are only in private spaces', async () => {
    const text = { title: 'Xylophones', description: 'Marimbas and vibraphones' };
    const secret = await createSpace(ann, { ...text, visibility: 'private' });
    const answers = async () => [await search('xylophomes'), await search('marimbus')];
    await buildDictionary(app);
    expect(await answers()).toEqual([nothing, nothing]);
    await change(secret, { visibility: 'public' });
    await buildDictionary(app);
    expect(await answers()).toEqual([
      { found: ['Xylophones'], answered: 'xylophones' },
      { found: ['Xylophones'], answered: 'marimbas' },
    ]);
    await change(secret, { visibility: 'private' });
    expect(await answers()).toEqual([nothing, nothing]);
    await buildDictionary(app);
    expect(await answers()).toEqual([nothing, nothing]);
  });

  test('never contains former words of changed or deleted spaces', async () => {
    const space = await createSpace(ann, { title: 'Clavichord', description: '' });
    await buildDictionary(app);
    expect(await search('clavicord')).toEqual({ found: ['Clavichord'], answered: 'clavichord' });
    await change(space, { title: 'Harpsichord' });
    expect(await search('clavicord')).toEqual(nothing);
    await buildDictionary(app);
    expect(await search('clavicord')).toEqual(nothing);
    expect(await search('harpsicord')).toEqual({ found: ['Harpsichord'], answered: 'harpsichord' });
    await api.deleteSpace({ client: ann.client, path: space, throwOnError: true });
    expect(await search('harpsicord')).toEqual(nothing);
  });

  test('never contains words of a deleted account', async () => {
    const user = await app.register();
    await createSpace(user, { title: 'Hurdy-gurdies' });
    await buildDictionary(app);
    expect(await search('gurdeis')).toEqual({ found: ['Hurdy-gurdies'], answered: 'gurdies' });
    await api.deleteAccount({ client: user.client, throwOnError: true });
    expect(await search('gurdeis')).toEqual(nothing);
  });
});

describe('as_typed', () => {
  test('returns only spaces that match the query as typed, if true', async () => {
    await create('Gardens of Rome');
    await create('My garden');
    await buildDictionary(app);
    const both = { found: ['My garden', 'Gardens of Rome'], answered: null };
    expect(await search('gardens')).toEqual(both);
    expect(await search('gardens', { as_typed: 'false' })).toEqual(both);
    const typed = { found: ['Gardens of Rome'], answered: null };
    expect(await search('gardens', { as_typed: 'true' })).toEqual(typed);
    expect(await search('gardens')).toEqual(both);
    expect(await search('astronmy', { as_typed: 'true' })).toEqual(nothing);
  });

  test.each(['', '1', '0', 'yes', 'TRUE', 'null', ' true', 'true&as_typed=true', '[]'])(
    'must be true or false, not "%s"',
    async (value) => {
      const response = await app.fetch(`/api/spaces/search?q=tea&as_typed=${value}`);
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({
        code: 'invalid_request',
        errors: [{ in: 'query', name: 'as_typed', code: 'conflicting' }],
      });
    },
  );
});

describe('Answered-Query', () => {
  const headersOfPages = async (path: string) => {
    const headers: (string | null)[] = [];
    for (let next: string | undefined = path; next !== undefined; ) {
      const response: Response = await app.fetch(next);
      expect(await response.json()).toHaveLength(1);
      headers.push(response.headers.get('answered-query'));
      next = nextPage(response);
    }
    return headers;
  };

  test('is on every page of a list, including cached pages', async () => {
    for (const title of ['Watching birds', 'Birds and watching', 'Watching their birds']) {
      await create(title);
    }
    await buildDictionary(app);
    const path = pathOf('watching birds their', { limit: '1' });
    const expected = Array(3).fill('watching%20birds');
    expect(await headersOfPages(path)).toEqual(expected);
    expect(await headersOfPages(path)).toEqual(expected);
    expect(await headersOfPages(`${path}&as_typed=true`)).toEqual([null]);
  });

  test('is percent-encoded', async () => {
    const response = await app.fetch(pathOf('астраномия'));
    const header = response.headers.get('answered-query');
    expect(header).toBe('%D0%B0%D1%81%D1%82%D1%80%D0%BE%D0%BD%D0%BE%D0%BC%D0%B8%D1%8F');
  });

  test('is absent if all results match the query as typed', async () => {
    for (const path of [pathOf('sourdough'), pathOf('zzzzzz'), pathOf(''), '/api/spaces/tag/x']) {
      const response = await app.fetch(path);
      expect(response.status).toBe(200);
      expect(response.headers.has('answered-query')).toBe(false);
    }
  });
});
