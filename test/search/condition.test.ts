import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Engine } from '../../server/database/engine.ts';
import { openDatabase } from '../../server/database/open.ts';
import { transact } from '../../server/database/transaction.ts';
import { conditionOf, type Matcher, matcherOf } from '../../server/search/condition.ts';
import { type Alternative, interpret } from '../../server/search/interpretation.ts';
import { SplitText } from '../../server/text/words/query.ts';
import { indexWords } from '../../server/text/words/tokenize.ts';
import { createTestDatabase, type TestDatabase } from '../support/databases.ts';
import { findKeys } from '../support/find-keys.ts';

/** Returns the matcher of an interpretation that lacks up to `missing` of its words. */
const matcherFor = (words: readonly Alternative[], missing = 0) =>
  matcherOf(interpret(words, { missing }));

test('A title equals a query also joined, and without its optional words', () => {
  const words = ['no', 'sql', 'database'].map((word): Alternative => [[word], []]);
  const { titleKeys } = conditionOf(interpret(words, { optional: [0] }));
  expect(titleKeys).toEqual(['no sql database', 'sql database', 'nosqldatabase']);
});

test('The pattern of one word is a single term, so a limit bounds its cost', () => {
  expect(matcherFor([[['bread'], []]]).pattern).toEqual({ term: 'bread', isPrefix: true });
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
  interface Document {
    title: string;
    description: string;
  }
  const document: fc.Arbitrary<Document> = fc.record({ title: text, description: text });
  const form = fc.constantFrom('ab', 'node', '.net');
  const alternative = fc.tuple(
    fc.array(text, { minLength: 1, maxLength: 3 }),
    fc.array(form, { maxLength: 2 }),
  );
  const matcher = fc
    .tuple(fc.array(alternative, { minLength: 1, maxLength: 4 }), fc.nat(3))
    .map(([words, missing]) => matcherFor(words, Math.min(missing, words.length - 1)));
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
              searched.matches(new SplitText(textOf[scope](documents[key] as Document))),
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
                matches(new SplitText(`${title}\n${description}`)) &&
                !matches(new SplitText(title)),
            )
            .map(([key]) => key);
          expect(found).toEqual(expected);
        },
      ),
      { numRuns: 200 },
    );
  });
});
