import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Engine } from '../../server/database/engine.ts';
import { openDatabase } from '../../server/database/open.ts';
import { transact } from '../../server/database/transaction.ts';
import {
  type Alternative,
  interpret,
  type Matcher,
  matcherOf,
  titleKeysOf,
} from '../../server/search/interpretation.ts';
import { queryWords } from '../../server/text/words/query.ts';
import { indexWords } from '../../server/text/words/tokenize.ts';
import { createTestDatabase, type TestDatabase } from '../support/databases.ts';
import { findKeys } from '../support/find-keys.ts';

interface Variants {
  joins?: number[];
  optional?: number[];
  forms?: string[][];
}

const interpretTyped = (query: string, { joins = [], optional = [], forms = [] }: Variants) => {
  const words = queryWords(query).map((word, i): Alternative => [[word.typed], forms[i] ?? []]);
  return interpret('typed', words, { text: query, joins, optional });
};

const typed = (query: string, joins: number[] = [], forms: string[][] = []) =>
  matcherOf(interpretTyped(query, { joins, forms }));

const alternativesMatcher = (words: readonly Alternative[], minWords = words.length) =>
  matcherOf(interpret('meant', words, { missing: words.length - minWords }));

describe('The matcher of a query as typed', () => {
  test('matches texts with every word, in any order', () => {
    expect(typed('sour dough').matches('Dough that is sour')).toBe(true);
    expect(typed('sour dough').matches('Dough that is sweet')).toBe(false);
  });

  test('matches a joined pair as one word or as two', () => {
    const matcher = typed('bake sour dough', [1]);
    expect(matcher.matches('Sourdough to bake')).toBe(true);
    expect(matcher.matches('Bake a dough until it is sour')).toBe(true);
    expect(matcher.matches('Bakesour dough')).toBe(false);
    expect(matcher.matches('Sourdough')).toBe(false);
  });

  test('ignores words, but not as a part of a joined pair', () => {
    const interpretation = interpretTyped('no sql database', { joins: [0], optional: [0] });
    const matcher = matcherOf(interpretation);
    expect(matcher.matches('A NoSQL database')).toBe(true);
    expect(matcher.matches('SQL database')).toBe(true);
    expect(matcher.matches('No database')).toBe(false);
    expect(titleKeysOf(interpretation)).toEqual([
      'no sql database',
      'nosql database',
      'sql database',
      'nosqldatabase',
    ]);
  });

  test('is the same as the words of the query', () => {
    for (const query of ["l'eau", 'c++17', 'wi-fi', '.net', 'R&B', '東京・大阪', '3.14', 'who’s']) {
      const [word, ...more] = queryWords(query);
      expect([query, more]).toEqual([query, []]);
      expect(queryWords(word?.typed ?? '')).toEqual([word]);
    }
  });

  test('matches each of two joined pairs as one word or as two', () => {
    const apart = typed('sour dough fish keepers', [0, 2]);
    for (const text of [
      'Sourdough, fish, keepers',
      'Sour dough fishkeepers',
      'Sourdough fishkeepers',
    ]) {
      expect([text, apart.matches(text)]).toEqual([text, true]);
    }
    const overlapping = typed('rainbow fish keepers', [0, 1]);
    for (const text of ['Rainbowfish keepers', 'Rainbow fishkeepers', 'Rainbowfishkeepers']) {
      expect([text, overlapping.matches(text)]).toEqual([text, true]);
    }
    expect(typed('rainbow fish keepers', [0]).matches('Rainbowfishkeepers')).toBe(false);
  });

  test('matches other forms of a word as whole words', () => {
    const matcher = typed('baking forms', [], [['bake', 'baked'], ['form']]);
    for (const text of ['Baking forms', 'Bake in a form', 'Formsets, baked']) {
      expect([text, matcher.matches(text)]).toEqual([text, true]);
    }
    for (const text of ['Bakery forms', 'Baking formats', 'Form']) {
      expect([text, matcher.matches(text)]).toEqual([text, false]);
    }
    expect(typed('sour doughs', [0], [[], ['dough']]).matches('Dough, sour')).toBe(true);
  });

  test('must verify what the index cannot decide', () => {
    expect(typed('bread 東京').mustVerify).toBe(false);
    expect(typed('bread 東京都').mustVerify).toBe(true);
    expect(typed('bread 東京都', [0]).mustVerify).toBe(true);
  });
});

const anyTextOf = (...positions: string[][]) =>
  alternativesMatcher(positions.map((texts) => [texts, []]));

describe('The matcher of alternatives', () => {
  test('matches texts with at least one alternative for each word', () => {
    const matcher = anyTextOf(['sourdough', 'sour dough'], ['bread', 'bred']);
    for (const text of ['Sourdough bread', 'Bred dough, sour']) {
      expect([text, matcher.matches(text)]).toEqual([text, true]);
    }
    for (const text of ['Sourdough', 'Bread', 'Sour bread']) {
      expect([text, matcher.matches(text)]).toEqual([text, false]);
    }
  });

  test('matches other forms of a word as whole words', () => {
    const matcher = alternativesMatcher([[['baking'], ['bake']]]);
    expect(matcher.matches('Baking')).toBe(true);
    expect(matcher.matches('Bake')).toBe(true);
    expect(matcher.matches('Bakery')).toBe(false);
  });

  test('matches a word of one or two letters as a whole word, except the last one', () => {
    const matcher = alternativesMatcher([
      [['go'], []],
      [['lang'], []],
      [['ga'], []],
    ]);
    expect(matcher.matches('Language games in Go')).toBe(true);
    expect(matcher.matches('Good language games')).toBe(false);
  });

  test('matches texts with the minimum number of words, whichever they are', () => {
    const words = ['rye', 'bread', 'oven', 'salt'].map((word) => [[word], []] as const);
    const matcher = alternativesMatcher(words, 2);
    for (const text of ['Rye bread', 'Rye and salt', 'Oven, salt', 'Bread, oven, salt']) {
      expect([text, matcher.matches(text)]).toEqual([text, true]);
    }
    for (const text of ['Rye', 'Salt, salt', 'Flour and water']) {
      expect([text, matcher.matches(text)]).toEqual([text, false]);
    }
  });

  test('must verify if one of the alternatives must be verified', () => {
    expect(anyTextOf(['东京', '公园']).mustVerify).toBe(false);
    expect(anyTextOf(['东京 公园', '东京公园'], ['a']).mustVerify).toBe(true);
  });
});

describe('The pattern of one word', () => {
  test('is a single term, so a limit bounds its cost', () => {
    const term = { term: 'bread', isPrefix: true };
    expect(typed('bread').pattern).toEqual(term);
    expect(anyTextOf(['bread']).pattern).toEqual(term);
  });

  test('contains all parts and alternatives of the word', () => {
    expect(typed('wi-fi').pattern).toEqual({
      anyOf: [
        { term: 'wifi', isPrefix: true },
        { allOf: ['wi', 'fi'].map((part) => ({ term: part, isPrefix: true })) },
      ],
    });
  });
});

describe('The pattern of a matcher', () => {
  let folder: string;
  let database: TestDatabase;
  let engine: Engine;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'space-service-matcher-'));
    database = await createTestDatabase();
    const location = { dataDir: folder, ...database.location };
    engine = await openDatabase(location, { runsMaintenance: false });
  });
  afterAll(async () => {
    await engine.close();
    await database[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  /** Few units, so that texts and queries share words. */
  const unit = fc.constantFrom(
    ...['a', 'ab', 'abc', 'b', 'go', 'node', 'js', 'nodejs', '.net', 'c++', 'c#', '3.14', '3', 'é'],
    ...[
      '東京',
      '京都',
      '東',
      '都',
      '东京都',
      'ガ',
      'の',
      'ไทย',
      'ภาษา',
      '한국',
      '한국어',
      '👍',
      '👩‍💻',
      '💻',
    ],
    ...["l'", "'s", 'ال', 'كتاب', 'हिं', 'हिन्दी', 'न्'],
  );
  const separator = fc.constantFrom(' ', ' ', ' ', '-', '.', '/', "'", '_', '\n', ', ');
  const text = fc
    .array(fc.tuple(unit, fc.oneof(separator, fc.constant(''))), { maxLength: 8 })
    .map((parts) => parts.flat().join(''));
  const inflection = fc.constantFrom('ab', 'node', '.net');
  const inflections = fc.array(fc.array(inflection, { maxLength: 2 }), { maxLength: 3 });
  interface Document {
    title: string;
    description: string;
  }
  const document: fc.Arbitrary<Document> = fc.record({ title: text, description: text });
  const matcher: fc.Arbitrary<Matcher> = fc.oneof(
    fc
      .tuple(text, fc.uniqueArray(fc.nat(10), { maxLength: 2 }), inflections)
      .map(([query, joins, inflections]) => {
        const words = queryWords(query);
        const possible = joins.filter((i) => i < words.length - 1).sort((a, b) => a - b);
        return typed(query, possible, inflections);
      }),
    fc
      .tuple(
        fc.array(fc.array(text, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 1, max: 4 }),
      )
      .map(([positions, minWords]) => {
        const words = positions.map((texts) => [texts, []] as const);
        return alternativesMatcher(words, Math.min(minWords, words.length));
      }),
  );
  const hasWords = ({ pattern }: Matcher) => JSON.stringify(pattern).includes('"term"');
  /** Empty conjunctions and alternatives are not valid queries. Searches never create them. */
  const isEmptyInside = ({ pattern }: Matcher) =>
    /"(?:allOf|anyOf)":\[\]/.test(JSON.stringify(pattern));

  /** Replaces the content of the index. The position of a document is its key. */
  async function replaceDocuments(documents: readonly Document[]): Promise<void> {
    const entries = documents.map((document, key) => {
      const title = indexWords(document.title);
      const all = [...new Set([...title, ...indexWords(document.description)])];
      return { key, words: { title, all } };
    });
    await transact(engine.searchIndex.engine, async (trx) => {
      await engine.wordIndex.clear(trx);
      await engine.wordIndex.add(trx, entries);
    });
  }

  test('finds exactly the matching documents, or a superset if they must be verified', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(document, { minLength: 1, maxLength: 12 }),
        matcher.filter((each) => hasWords(each) && !isEmptyInside(each)),
        async (documents, searched) => {
          await replaceDocuments(documents);
          const textOf: Record<'title' | 'all', (of: Document) => string> = {
            title: ({ title }) => title,
            all: ({ title, description }) => `${title}\n${description}`,
          };
          for (const scope of ['title', 'all'] as const) {
            const query = { pattern: searched.pattern, scope };
            const found = await findKeys(engine, engine.searchIndex.db, query, 100);
            const matching = [...documents.keys()].filter((key) =>
              searched.matches(textOf[scope](documents[key] as Document)),
            );
            if (searched.mustVerify) expect(found).toEqual(expect.arrayContaining(matching));
            else expect(found).toEqual(matching);
          }
        },
      ),
      { numRuns: 400 },
    );
  });

  test('finds the matches outside of titles', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(document, { minLength: 1, maxLength: 12 }),
        matcher.filter((each) => hasWords(each) && !isEmptyInside(each) && !each.mustVerify),
        async (documents, { pattern, matches }) => {
          await replaceDocuments(documents);
          const query = { pattern, scope: 'other' } as const;
          const found = await findKeys(engine, engine.searchIndex.db, query, 100);
          const expected = [...documents.entries()]
            .filter(
              ([, { title, description }]) =>
                matches(`${title}\n${description}`) && !matches(title),
            )
            .map(([key]) => key);
          expect(found).toEqual(expected);
        },
      ),
      { numRuns: 200 },
    );
  });
});
