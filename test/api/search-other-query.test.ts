import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import type { SearchResult, Space } from '../../generated/types.gen.ts';
import { startApp, type TestApp, type TestUser } from '../support/app.ts';
import { waitForDictionary } from '../support/dictionary.ts';
import { nextPage, readPages } from '../support/pages.ts';
import { createSpace } from '../support/spaces.ts';

let app: TestApp;
let ann: TestUser;

beforeAll(async () => {
  app = await startApp();
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
  await waitForDictionary(app);
});
afterAll(() => app[Symbol.asyncDispose]());

const titles = (results: Pick<SearchResult, 'title'>[]) => results.map(({ title }) => title);

const pathOf = (q: string, parameters: Record<string, string> = {}) =>
  `/api/spaces/search?${new URLSearchParams({ q, ...parameters })}`;

/** Returns the titles of the results and the other query. */
const search = async (q: string, parameters: Record<string, string> = {}) => {
  const response = await app.fetch(pathOf(q, { limit: '100', ...parameters }));
  expect(response.status).toBe(200);
  return { found: titles(await response.json()), answered: answeredQuery(response) };
};

/** Returns the decoded query of the Answered-Query header, or null. */
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
const noResults = { found: [], answered: null };

describe('Another query', () => {
  test.each([
    ['a missing letter', 'astronmy', 'astronomy', astronomy],
    ['an additional letter', 'astronoomy', 'astronomy', astronomy],
    ['a wrong letter', 'astronony', 'astronomy', astronomy],
    ['two transposed letters', 'asrtonomy', 'astronomy', astronomy],
    ['two transposed letters at the end', 'astronoym', 'astronomy', astronomy],
    ['a wrong first letter', 'ostronomy', 'astronomy', astronomy],
    ['two edits in eight letters or more', 'astrnmmy', 'astronomy', astronomy],
    ['two edits far apart', 'adtronomi', 'astronomy', astronomy],
    ['two transpositions', 'satronoym', 'astronomy', astronomy],
    ['a word of the description', 'photografy', 'photography', ['Stars']],
    ['capitals and accents', 'ÁSTRONMY', 'astronomy', astronomy],
    ['a digit instead of a letter', 'astron0my', 'astronomy', astronomy],
    ['a wrong digit', 'mars2021', 'mars2020', ['Mars2020 rover']],
    ['two words', 'astronmy beginers', 'astronomy beginners', ['Astronomy for beginners']],
    ['one of two words', 'club astronmy', 'club astronomy', ['Astronomy club']],
    ['a word before a prefix', 'astronmy beg', 'astronomy beg', ['Astronomy for beginners']],
    ['another script', 'астраномия', 'астрономия', ['Астрономия для всех']],
    ['a script with vowel signs', 'हिन्दुसतानी', 'हिन्दुस्तानी', ['हिन्दुस्तानी संगीत']],
    ['a folded word', 'ubnug', 'ubung', ['Übung macht den Meister']],
    ['a word after a compound', 'wi-fi meteorolgy', 'wi-fi meteorology', ['Wi Fi meteorology']],
  ])('corrects %s', async (_, q, answered, found) => {
    expect(await search(q)).toEqual({ found, answered });
  });

  test.each([
    ['splits a compound word', 'sourdoughbread', 'sourdough bread', ['Sourdough bread']],
    ['splits a run without spaces', '写真東京', '写真 东京', ['東京駅の写真']],
    ['drops stop words', 'the boots of the paths', 'boot path', ['Boots']],
    ['includes other forms of a word', 'beginning', 'begin', ['Astronomy for beginners']],
    ['drops unknown words', 'astronmy qqqqqq', 'astronomy', astronomy],
    ['drops the most frequent words', 'astronomy boots', 'boot', ['Boots']],
  ])('%s', async (_, q, answered, found) => {
    expect(await search(q)).toEqual({ found, answered });
    expect(await search(q, { as_typed: 'true' })).toEqual(noResults);
  });

  test.each([
    ['two edits in fewer than eight letters', 'astrnmy'],
    ['three edits', 'astrinimi'],
    ['the first letter and another letter', 'ustronomi'],
    ['the first letter of a word with fewer than eight', 'voats'],
    ['words of three letters', 'bot'],
    ['tags', 'malets'],
    ['words with punctuation', 'c++lang'],
  ])('does not correct %s', async (_, q) => {
    expect(await search(q)).toEqual(noResults);
  });

  test('adds its results after those of the query as typed', async () => {
    await create('Fishing for carps');
    await create('Fishing for carp');
    await waitForDictionary(app);
    expect(await search('carps')).toEqual({
      found: ['Fishing for carps', 'Fishing for carp'],
      answered: 'carp',
    });
    expect(await search('carp')).toEqual({
      found: ['Fishing for carp', 'Fishing for carps'],
      answered: null,
    });
  });

  test('has the most frequent of the nearest words', async () => {
    expect((await search('boets')).found).toEqual(['Boats of the world', 'Boats']);
    await create('Boots again', 3);
    await waitForDictionary(app);
    expect(await search('boets')).toEqual({
      found: ['Boots again', 'Boots again', 'Boots again', 'Boots'],
      answered: 'boots',
    });
    // In a query of several words, it has several corrections of a word.
    expect((await search('boets world')).found).toEqual(['Boats of the world']);
  });

  test('corrects a known word only to a word in 20 times as many spaces, even in cached responses', async () => {
    await create('My kettel');
    await create('Kettle', 19);
    await waitForDictionary(app);
    const few = { found: ['My kettel'], answered: null };
    expect([await search('kettel'), await search('kettel')]).toEqual([few, few]);
    await create('Kettle');
    await waitForDictionary(app);
    const many = { found: ['My kettel', ...Array(20).fill('Kettle')], answered: 'kettle' };
    expect([await search('kettel'), await search('kettel')]).toEqual([many, many]);
  });

  test('is used only if fewer than ten spaces match as typed, regardless of the limit', async () => {
    await create('A library', 9);
    await create('Two libraries', 3);
    await waitForDictionary(app);
    const limits = [1, 2, 8, 9, 10, 11, 12, 100];
    const read = async (limit: number) => {
      const path = pathOf('library', { limit: String(limit) });
      const response = await app.fetch(path);
      const pages = await readPages<SearchResult>(app, path);
      return { answered: answeredQuery(response), found: titles(pages.flat()) };
    };
    const nine = Array(9).fill('A library');
    for (const limit of limits) {
      const found = [...nine, ...Array(3).fill('Two libraries')];
      expect(await read(limit)).toEqual({ answered: 'librar', found });
    }
    await create('A library');
    await waitForDictionary(app);
    for (const limit of limits) {
      expect(await read(limit)).toEqual({ answered: null, found: [...nine, 'A library'] });
    }
  });

  test('stays the same on later pages when a space with the typed word is created', async () => {
    const first = await app.fetch(pathOf('asttronomy', { limit: '1' }));
    expect(titles(await first.json())).toEqual([astronomy[0]]);
    await create('Asttronomy');
    await create('Astronomy now');
    await waitForDictionary(app);
    const rest = await readPages<SearchResult>(app, nextPage(first) as string);
    expect(rest.flat().map(({ title }) => title)).toEqual(astronomy.slice(1));
    expect(await search('asttronomy')).toEqual({ found: ['Asttronomy'], answered: null });
  });

  test('never contains words of private spaces', async () => {
    const text = { title: 'Xylophones', description: 'Marimbas and vibraphones' };
    const secret = await createSpace(ann, { ...text, visibility: 'private' });
    const searches = async () => [await search('xylophons'), await search('marimbus')];
    await waitForDictionary(app);
    expect(await searches()).toEqual([noResults, noResults]);
    await change(secret, { visibility: 'public' });
    await waitForDictionary(app);
    expect(await searches()).toEqual([
      { found: ['Xylophones'], answered: 'xylophones' },
      { found: ['Xylophones'], answered: 'marimbas' },
    ]);
    await change(secret, { visibility: 'private' });
    expect(await searches()).toEqual([noResults, noResults]);
    await waitForDictionary(app);
    expect(await searches()).toEqual([noResults, noResults]);
  });

  test('never contains overwritten or deleted words', async () => {
    const space = await createSpace(ann, { title: 'Clavichord', description: '' });
    await waitForDictionary(app);
    expect(await search('clavicord')).toEqual({ found: ['Clavichord'], answered: 'clavichord' });
    await change(space, { title: 'Harpsichord' });
    expect(await search('clavicord')).toEqual(noResults);
    await waitForDictionary(app);
    expect(await search('clavicord')).toEqual(noResults);
    expect(await search('harpsicord')).toEqual({ found: ['Harpsichord'], answered: 'harpsichord' });
    await api.deleteSpace({ client: ann.client, path: space, throwOnError: true });
    expect(await search('harpsicord')).toEqual(noResults);
  });

  test('never contains words of a deleted account', async () => {
    const user = await app.register();
    await createSpace(user, { title: 'Hurdy-gurdies' });
    await waitForDictionary(app);
    expect(await search('gurdeis')).toEqual({ found: ['Hurdy-gurdies'], answered: 'gurdies' });
    await api.deleteAccount({ client: user.client, throwOnError: true });
    expect(await search('gurdeis')).toEqual(noResults);
  });
});

describe('as_typed', () => {
  test('limits the results to the query as typed if it is true', async () => {
    await create('Gardens of Rome');
    await create('My garden');
    await waitForDictionary(app);
    const both = { found: ['Gardens of Rome', 'My garden'], answered: 'garden' };
    expect(await search('gardens')).toEqual(both);
    expect(await search('gardens', { as_typed: 'false' })).toEqual(both);
    const typed = { found: ['Gardens of Rome'], answered: null };
    expect(await search('gardens', { as_typed: 'true' })).toEqual(typed);
    expect(await search('gardens')).toEqual(both);
    expect(await search('astronmy', { as_typed: 'true' })).toEqual(noResults);
  });

  test.each(['', '1', '0', 'yes', 'TRUE', 'null', ' true', 'true&as_typed=true', '[]'])(
    'must be true or false, not "%s"',
    async (value) => {
      const response = await app.fetch(`/api/spaces/search?q=tea&as_typed=${value}`);
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({
        code: 'invalid_request',
        errors: [{ pointer: '?as_typed', message: expect.any(String) }],
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

  test('is sent with every page of a list, including cached ones', async () => {
    for (const title of ['Watching birds', 'Bird watching', 'We watch a bird']) await create(title);
    await waitForDictionary(app);
    const path = pathOf('watching birds', { limit: '1' });
    const expected = Array(3).fill('watch%20bird');
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
