import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { FoundKeys, WordIndex, WordQuery } from '../../server/database/word-index.ts';
import type { Position } from '../../server/pagination.ts';
import type { Budget } from '../../server/search/budget.ts';
import { type Dictionary, documentsWithPrefix } from '../../server/search/dictionary/dictionary.ts';
import { documentKey } from '../../server/search/order.ts';
import { searchText, type TextQuery } from '../../server/search/text-search.ts';
import { randomIntegers } from '../support/random.ts';
import { expectedResults } from './expected-results.ts';
import { type GeneratedIndex, generateIndex, scaleDictionary, viewed } from './generated-index.ts';

/** `full`: the initial value of each new budget. `used`: the budgets of the current test, with what remains of them. */
const budget = vi.hoisted(() => ({ full: { entries: 0, rejectedRows: 0 }, used: [] as Budget[] }));

// Files share loaded modules. Reload them with the mock, and without it after this file.
vi.hoisted(() => vi.resetModules());
afterAll(() => void vi.resetModules());
vi.mock(import('../../server/search/budget.ts'), async (load) => {
  const original = await load();
  const newBudget = () => {
    const created = { ...budget.full };
    budget.used.push(created);
    return created;
  };
  return { ...original, newBudget };
});

const { newBudget: realBudget } = await vi.importActual<
  typeof import('../../server/search/budget.ts')
>('../../server/search/budget.ts');

beforeEach(() => {
  budget.full = realBudget();
  budget.used.length = 0;
});

const FREQUENT = 'bread oven flour yeast water salt dough crust loaf knead proof bake'.split(' ');
const RARE =
  'sourdough sour fast api fastapi rye tin brotform 東京都 京都東京 機器學習 wi-fi node.js c++'.split(
    ' ',
  );

/**
 * Returns spaces in about a hundred blocks of keys and twenty popularity steps. Most have most of the frequent words.
 * Derive further fields from `i`: another call of `random` changes all data.
 */
function generateSpaces(count: number) {
  const random = randomIntegers(7);
  const pick = (words: string[], percent: number) => words.filter(() => random(100) < percent);
  const exactTitles = ['Sourdough', 'FastAPI', 'Fast API', 'Tin', 'K'];
  const titleOf = (i: number) => (i === 111 ? 'Ryecrust' : exactTitles[i % 300]);
  return Array.from({ length: count }, (_, i) => {
    const name = nameOf(i);
    const title =
      random(40) === 0 ? 'Bread' : [...pick(FREQUENT, 15), ...pick(RARE, 2), `no${i}`].join(' ');
    return {
      pk: 1 + i * 1_009,
      title: titleOf(i) ?? title + name,
      description: [
        ...pick(FREQUENT, 90),
        ...pick(RARE, 2),
        ...(i === 0 ? ['the'] : []),
        ...(i % 3 === 0 ? ['with'] : []),
        // In 2% of the spaces, but in fewer than a hundred.
        ...(i % 40 === 0 ? ['krumb'] : []),
      ].join(' '),
      participants: Math.floor(2 ** (random(110) / (name || i === 111 ? Infinity : 10))),
    };
  });
}

/** Some names are in one title each. The dictionary lacks them, because their spaces are not popular: `qatest`. */
function nameOf(i: number): string {
  const letter = 'abcdl'[(i - 11) / 500];
  return letter === undefined ? '' : ` q${letter}test`;
}

const spaces = generateSpaces(3_000);
let index: GeneratedIndex;

beforeAll(async () => {
  index = await generateIndex(spaces);
});
afterAll(() => index[Symbol.asyncDispose]());

async function readPages(
  query: TextQuery,
  limit: number,
  dictionary: Dictionary = index.dictionary,
) {
  const pages: string[][] = [];
  const positions = new Set<string>();
  let position: string | undefined;
  let answeredQuery: string | null = null;
  do {
    const request = { limit, position: position && JSON.parse(position) };
    const page = await viewed(index.resources, (view) =>
      searchText(index.resources, dictionary, query, request, view),
    );
    pages.push(page.items.map((item) => JSON.parse(item).space_id));
    answeredQuery = page.answeredQuery;
    position = page.next ? JSON.stringify(page.next) : undefined;
    if (position && positions.has(position)) {
      throw new Error(`The position ${position} is repeated.`);
    }
    if (position) positions.add(position);
  } while (position !== undefined);
  return { ids: pages.flat(), pages, answeredQuery };
}

const word = fc.oneof(
  fc.constantFrom(...FREQUENT),
  fc.constantFrom(
    ...RARE,
    'no12',
    'no',
    'sourduogh',
    'qtest',
    'qatset',
    'qltest',
    'sourdoxx',
    'the',
    'with',
    'k',
    'zuk',
    '学习',
    'breads',
    '東',
  ),
);

/** How many times as frequent a word is, and the number of runs: the more frequent, the more pages have few results. */
const FREQUENCIES = [
  [10, 10],
  [100, 10],
  [1_000, 5],
] as const;
/** A query that rejects rows between its matches, because other spaces have its bigrams, and a budget for few of them. */
const MANY_REJECTED: [string, number][] = [['東京都', 6]];
const query = fc.array(word, { minLength: 1, maxLength: 12 }).map((words) => words.join(' '));

describe('A text search', () => {
  test('returns the results of the documented rules in their order', async () => {
    const limit = fc.integer({ min: 5, max: 100 });
    await fc.assert(
      fc.asyncProperty(query, fc.boolean(), limit, async (text, asTyped, pageSize) => {
        const expected = expectedResults(spaces, index.dictionary, text, asTyped);
        const found = await readPages({ query: text, asTyped }, pageSize);
        expect(found.ids).toEqual([...expected.typed, ...expected.other]);
        expect(found.answeredQuery).toBe(expected.answeredQuery);
      }),
      { numRuns: 30 },
    );
  });

  test.each([
    'sourdough',
    'sourduogh',
    'the sourdough',
    'the sourdough zuk',
    'rye with bread',
    'fast with fast api bread',
    'fast api',
    'fastapi',
    'tni k',
    'rye crust',
    'ry ecrust',
    'qtest',
    'qatset bread',
    'krumb tin',
    'kwith',
    'tinwith',
    'sourdoxx',
    'rye sourdoxx',
    'sourduogh sourdoxx tin',
    'sourdoxx zuk',
  ])('returns titles that equal %j or its other query in the documented order', async (text) => {
    for (const asTyped of [false, true]) {
      const expected = expectedResults(spaces, index.dictionary, text, asTyped);
      for (const limit of [3, 100]) {
        const found = await readPages({ query: text, asTyped }, limit);
        expect(found.ids).toEqual([...expected.typed, ...expected.other]);
      }
    }
  });

  test('finds the title that equals its joined words first, even if the dictionary lacks it', async () => {
    expect(documentsWithPrefix(index.dictionary, 'ryecrust')).toBe(0);
    const { ids, answeredQuery } = await readPages({ query: 'rye crust', asTyped: true }, 100);
    expect(ids[0]).toBe(String(spaces[111]?.pk));
    expect(answeredQuery).toBeNull();
  });

  test('finds a misspelled word that only one title has, unless a space has it as typed', async () => {
    const found = (text: string) => readPages({ query: text, asTyped: false }, 10);
    const idsOf = (name: string) =>
      spaces.filter(({ title }) => title.endsWith(name)).map(({ pk }) => String(pk));
    expect(idsOf('qatest')).toHaveLength(1);
    for (const text of ['qatset', 'qatesst', 'qatst', 'qatect']) {
      expect(await found(text)).toMatchObject({ ids: idsOf('qatest'), answeredQuery: 'qatest' });
    }
    expect(await found('watest')).toMatchObject({ ids: [], answeredQuery: null });
    expect(await found('qltest')).toMatchObject({ ids: idsOf('qltest'), answeredQuery: null });
  });

  test.each(FREQUENCIES)(
    'returns the same results on more pages if its words are %i times as frequent and its budget is small',
    async (factor, numRuns) => {
      const dictionary = scaleDictionary(index.dictionary, factor);
      const rejectedRows = fc.constantFrom(6, 100, 1_000);
      await fc.assert(
        fc.asyncProperty(query, rejectedRows, async (text, rows) => {
          budget.full = { ...realBudget(), rejectedRows: rows };
          const { typed } = expectedResults(spaces, dictionary, text, true);
          const found = await readPages({ query: text, asTyped: true }, 100, dictionary);
          expect(found.ids).toEqual(typed);
        }),
        { numRuns, examples: MANY_REJECTED },
      );
    },
  );

  test.each(FREQUENCIES)(
    'returns no space twice and every match as typed, with words %i times as frequent and a small budget',
    async (factor, numRuns) => {
      const dictionary = scaleDictionary(index.dictionary, factor);
      const rejectedRows = fc.constantFrom(6, 100, 1_000);
      await fc.assert(
        fc.asyncProperty(query, rejectedRows, async (text, rows) => {
          budget.full = { ...realBudget(), rejectedRows: rows };
          const { typed } = expectedResults(spaces, dictionary, text, true);
          const found = await readPages({ query: text, asTyped: false }, 100, dictionary);
          expect(new Set(found.ids).size).toBe(found.ids.length);
          // If the budget is spent before the first match as typed, the list is that of the other query.
          const isTypedRead = found.answeredQuery === null || found.ids[0] === typed[0];
          const ids = new Set(found.ids);
          if (isTypedRead) expect(typed.filter((id) => !ids.has(id))).toEqual([]);
        }),
        { numRuns, examples: MANY_REJECTED },
      );
    },
  );

  test('continues on the next page if its budget is spent before the first space with fewer words', async () => {
    const query = { query: '東京都 zuk c++ 機器學習', asTyped: false };
    const { typed, other } = expectedResults(spaces, index.dictionary, query.query, false);
    budget.full = { ...realBudget(), entries: 10_000 };
    const { ids, pages } = await readPages(query, 100);
    expect(typed).toEqual([]);
    expect(ids).toEqual(other);
    expect(pages[0]).toEqual(other.slice(0, 3));
  });

  test('continues on the next page if its budget is spent before the first result of the other query', async () => {
    const query = { query: '京都東京 api', asTyped: false };
    const { typed, other, answeredQuery } = expectedResults(
      spaces,
      index.dictionary,
      query.query,
      false,
    );
    expect(typed).toHaveLength(1);
    expect(other).not.toEqual([]);
    budget.full = { ...realBudget(), entries: 2_500 };
    const found = await readPages(query, 100);
    expect(found).toMatchObject({ ids: [...typed, ...other], answeredQuery });
    expect(found.pages[0]).toEqual(typed);
  });

  // With these factors, reading a frequent word costs between a small part and several times the budget.
  test.each([5, 10, 14, 17, 20, 40, 100, 1_000])(
    'finds spaces with a word %i times as frequent if the other word of the query is unknown',
    async (factor) => {
      const dictionary = scaleDictionary(index.dictionary, factor);
      for (const text of ['breads zuk', 'zuk ovens', 'floour zuk']) {
        const request = { limit: 10, position: undefined };
        const query = { query: text, asTyped: false };
        const { items } = await viewed(index.resources, (view) =>
          searchText(index.resources, dictionary, query, request, view),
        );
        expect(items, text).toHaveLength(10);
      }
    },
  );

  // Their ranks are negative, so a page has them before any other match is read.
  test('returns no space twice on a page with title matches of 185,363 participants or more', async () => {
    const popular = Array.from({ length: 62 }, (_, i) => ({
      pk: 1 + i,
      title: i < 4 ? 'Music' : i < 23 ? `Music ${i}` : `Concerts ${i}`,
      description: i < 23 ? '' : 'music',
      participants: i < 23 ? 1_000_000 : 1,
    }));
    await using music = await generateIndex(popular);
    for (let limit = 20; limit <= 30; limit += 1) {
      const query = { query: 'music', asTyped: false };
      const { resources, dictionary } = music;
      const { items } = await viewed(resources, (view) =>
        searchText(resources, dictionary, query, { limit }, view),
      );
      const ids = items.map((item) => JSON.parse(item).space_id);
      expect(ids).toHaveLength(limit);
      expect(new Set(ids).size).toBe(limit);
    }
  });
});

const MAX_ENTRIES_PER_STATEMENT = 80_000;

/** Returns the number of spaces in a range of keys. */
function documentsIn(after: number, reached: number): number {
  return spaces
    .map(({ pk, participants }) => documentKey(pk, participants))
    .filter((key) => key > after && key <= reached).length;
}

describe('The cost of a page', () => {
  const TWELVE = FREQUENT.join(' ');
  const FACTORS = [1, 10, 100, 1_000];

  /** Runs a search. Returns its page and its searches of the word index. */
  async function observe(
    text: string,
    factor: number,
    { delayMs = 0, position }: { delayMs?: number; position?: Position } = {},
  ) {
    const statements: { query: WordQuery; after: number; found: FoundKeys }[] = [];
    const { engine, avatars } = index.resources;
    const find: WordIndex['find'] = async (db, searched, range, statistics) => {
      if (delayMs > 0) await sleep(delayMs);
      const found = await engine.wordIndex.find(db, searched, range, statistics);
      if (found) statements.push({ query: searched, after: range.after, found });
      return found;
    };
    const wordIndex = { ...engine.wordIndex, find };
    const resources = { avatars, engine: { ...engine, wordIndex } };
    const dictionary = scaleDictionary(index.dictionary, factor);
    const textQuery = { query: text, asTyped: false };
    const page = await viewed(resources, (view) =>
      searchText(
        resources,
        dictionary,
        textQuery,
        {
          limit: 20,
          position,
        },
        view,
      ),
    );
    return { page, statements };
  }

  test.each(FACTORS)(
    'of a search for twelve frequent words in %i times 3,000 spaces is at most the budget plus two statements',
    async (factor) => {
      const { statements } = await observe(TWELVE, factor);
      const entries = statements.map(({ query: { pattern, scope }, after, found }) => {
        const terms = JSON.stringify(pattern).match(/"term"/g) ?? [];
        const share = scope === 'title' ? 1 / 3 : 1;
        return documentsIn(after, found.reached) * terms.length * share * factor;
      });
      const total = entries.reduce((sum, each) => sum + each, 0);
      expect(budget.used).toHaveLength(1);
      expect(total).toBeLessThanOrEqual(realBudget().entries + 2 * MAX_ENTRIES_PER_STATEMENT);
    },
  );

  test.each([
    [1, 1],
    [10, 3],
    [100, 12],
    [1_000, 2],
  ])(
    'of a search for twelve frequent words in %i times 3,000 spaces allows a result on one of the first %i pages',
    async (factor, maxPages) => {
      let page = (await observe(TWELVE, factor)).page;
      for (let pages = 1; page.items.length === 0; pages += 1) {
        expect(pages).toBeLessThan(maxPages);
        expect(page.next).not.toBeNull();
        page = (await observe(TWELVE, factor, { position: page.next as Position })).page;
      }
    },
  );

  test.each(FACTORS)(
    'exceeds the budget by at most two statements, for %i times as many spaces',
    async (factor) => {
      for (const text of [TWELVE, 'bread', 'bread oven', '東京都', 'the bread and the oven']) {
        budget.used.length = 0;
        await observe(text, factor);
        expect(budget.used).not.toEqual([]);
        for (const { entries, rejectedRows } of budget.used) {
          expect(entries).toBeGreaterThanOrEqual(-2 * MAX_ENTRIES_PER_STATEMENT);
          expect(rejectedRows).toBeGreaterThan(-100);
        }
      }
    },
  );

  test('of a search for an unknown word is at most a thousand terms, however many letters its script has', async () => {
    const lettersFrom = (first: number, count: number) =>
      String.fromCodePoint(...Array.from({ length: count }, (_, i) => first + i));
    const [latin, hangul, ethiopic] = [0x61, 0xac00, 0x1200];
    for (const text of [latin, hangul, ethiopic].flatMap((first) => [
      lettersFrom(first, 4),
      lettersFrom(first, 16),
    ])) {
      const { statements } = await observe(text, 1);
      const terms = statements.map(
        ({ query }) => JSON.stringify(query).match(/"term"/g)?.length ?? 0,
      );
      expect(Math.max(...terms)).toBeLessThanOrEqual(1_000);
    }
  });

  test('does not depend on the duration of its statements', async () => {
    const quick = await observe(TWELVE, 100);
    const slow = await observe(TWELVE, 100, { delayMs: 20 });
    expect(slow.page).toEqual(quick.page);
    expect(slow.statements).toEqual(quick.statements);
  });

  test('of a search for one word does not depend on the number of spaces with the word', async () => {
    const { page } = await observe('oven', 100);
    expect(page.items).toHaveLength(20);
    const spent = budget.used.map(({ entries }) => realBudget().entries - entries);
    // Reading every space with the word would cost more than twice as much as a statement may.
    const documents = documentsWithPrefix(scaleDictionary(index.dictionary, 100), 'oven');
    expect(documents).toBeGreaterThan(2 * MAX_ENTRIES_PER_STATEMENT);
    expect(spent).toEqual([expect.any(Number)]);
    expect(spent[0]).toBeLessThanOrEqual(MAX_ENTRIES_PER_STATEMENT + 100);
  });
});
