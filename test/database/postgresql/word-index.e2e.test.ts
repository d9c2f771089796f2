import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Database } from '../../../server/database/engine.ts';
import { connect } from '../../../server/database/postgresql/dialect.ts';
import { up } from '../../../server/database/postgresql/migrations/0001-initial.ts';
import { openPool } from '../../../server/database/postgresql/pool.ts';
import { wordIndex } from '../../../server/database/postgresql/word-index/word-index.ts';
import type {
  IndexedDocument,
  WordPattern,
  WordQuery,
} from '../../../server/database/word-index.ts';
import { type PostgresqlServer, startPostgresql } from '../../support/postgresql.ts';
import { randomIntegers } from '../../support/random.ts';
import { countRows } from './count-rows.ts';

const FREQUENT = ['a', 'bread', 'oven', 'ovens', 'fermentation', 'fermentations', 'über', '東京'];
const RARE = ['rye', 'b', 'breadcrumbs', 'sourdough', 'sourdoughbread', 'internationalization'];
const FAMILY = Array.from({ length: 40 }, (_, i) => `sourdoughbreads${i.toString(36)}x`);
const WORDS = [...FREQUENT, ...RARE, ...FAMILY];

/** Lists of the frequent words have several blocks. */
const documents = generateDocuments(3_000);
/** The documents that the index has now. */
const present = new Map(documents.map((document) => [document.key, document]));

let server: PostgresqlServer;
let db: Database;

beforeAll(async () => {
  server = await startPostgresql();
  db = connect(openPool(await server.createDatabase('words')));
  await up(db as never);
  for (let i = 0; i < documents.length; i += 1_000) {
    await wordIndex.add(db, documents.slice(i, i + 1_000));
  }
});

afterAll(async () => {
  await db.destroy();
  await server[Symbol.asyncDispose]();
});

function generateDocuments(count: number): IndexedDocument[] {
  const random = randomIntegers(3);
  const pick = (words: readonly string[], percent: number) =>
    words.filter(() => random(100) < percent);
  return Array.from({ length: count }, (_, i) => {
    const title = [...pick(FREQUENT, 20), ...pick(RARE, 3), ...pick(FAMILY, 1)];
    const all = new Set([...title, ...pick(FREQUENT, 60), ...pick(RARE, 3), `#0${i % 7}abc`]);
    return { key: random(5) * 2 ** 32 + i * 1_009, words: { title, all: [...all] } };
  });
}

const term = fc.oneof(
  fc.constantFrom(...WORDS).map((word) => ({ term: word, isPrefix: false })),
  fc
    .tuple(fc.constantFrom(...WORDS, 'zzz'), fc.integer({ min: 1, max: 22 }))
    .map(([word, letters]) => ({
      term: [...word].slice(0, letters).join(''),
      isPrefix: true,
    })),
);
const { pattern } = fc.letrec<{ pattern: WordPattern }>((tie) => ({
  pattern: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    term,
    fc.record({ allOf: fc.array(tie('pattern'), { minLength: 1, maxLength: 3 }) }),
    fc.record({ anyOf: fc.array(tie('pattern'), { minLength: 1, maxLength: 3 }) }),
  ),
}));
const scope = fc.constantFrom('title' as const, 'all' as const);
const query: fc.Arbitrary<WordQuery> = fc.record({
  pattern,
  scope,
  except: fc.array(fc.record({ pattern, scope }), { maxLength: 2 }),
});
/** The last key of all popularity steps. */
const LAST_KEY = 41 * 2 ** 32 - 1;

const key = fc.constantFrom(-1, LAST_KEY, ...documents.map((document) => document.key));

function expectedKeys({ pattern, scope, except = [] }: WordQuery): number[] {
  const isMatch = (words: readonly string[], each: WordPattern): boolean => {
    if ('allOf' in each) return each.allOf.every((part) => isMatch(words, part));
    if ('anyOf' in each) return each.anyOf.some((part) => isMatch(words, part));
    return words.some((word) => (each.isPrefix ? word.startsWith(each.term) : word === each.term));
  };
  return [...present.values()]
    .filter(({ words }) => isMatch(words[scope], pattern))
    .filter(({ words }) => !except.some((each) => isMatch(words[each.scope], each.pattern)))
    .map((document) => document.key)
    .sort((a, b) => a - b);
}

async function expectMatches(each: WordQuery, after: number, limit: number, lastKey?: number) {
  const range = {
    after,
    limit,
    ...(lastKey !== undefined && { within: { prefixes: [], lastKey } }),
  };
  const expected = expectedKeys(each)
    .filter((found) => found > after && found <= (lastKey ?? Infinity))
    .slice(0, limit);
  expect(await wordIndex.openReader(db, []).find(each, range)).toEqual(expected);
}

/**
 * Removes those of the documents from `present` that it has, and adds the others. Returns the changes for the index.
 */
function toggle(changed: readonly IndexedDocument[]) {
  const removed = changed.filter((document) => present.has(document.key));
  const added = changed.filter((document) => !present.has(document.key));
  for (const document of removed) present.delete(document.key);
  for (const document of added) present.set(document.key, document);
  return { removed, added };
}

async function expectSameTerms() {
  const expected = new Map<string, number>();
  for (const { words } of present.values()) {
    for (const word of words.all) expected.set(word, (expected.get(word) ?? 0) + 1);
  }
  const terms: [string, number][] = [];
  for await (const { term, documents } of wordIndex.terms(db)) terms.push([term, documents]);
  const byBytes = ([a]: [string, number], [b]: [string, number]) =>
    Buffer.compare(Buffer.from(a), Buffer.from(b));
  expect(terms).toEqual([...expected].sort(byBytes));
}

const changes = (maxLength: number) =>
  fc.uniqueArray(fc.constantFrom(...documents), {
    selector: (document) => document.key,
    minLength: 1,
    maxLength,
  });

describe('The word index', () => {
  test('finds the documents that match a pattern, in the order of their keys', async () => {
    await fc.assert(
      fc.asyncProperty(
        query,
        key,
        fc.integer({ min: 1, max: 400 }),
        fc.option(key, { nil: undefined }),
        expectMatches,
      ),
      { numRuns: 300 },
    );
  });

  test('finds nothing after the last key', async () => {
    const words = ['bread', 'zzz'].map((word) => ({ term: word, isPrefix: false }));
    await expectMatches({ pattern: { allOf: words }, scope: 'all' }, LAST_KEY, 10);
  });

  test('matches the expected documents after some were removed and added again', async () => {
    await fc.assert(
      fc.asyncProperty(changes(400), query, async (changed, each) => {
        const { removed, added } = toggle(changed);
        await wordIndex.remove(db, removed);
        await wordIndex.add(db, added);
        await expectMatches(each, -1, 10_000);
      }),
      { numRuns: 30 },
    );
  });

  test('matches the expected documents after some were replaced several times', async () => {
    await fc.assert(
      fc.asyncProperty(
        changes(5),
        fc.integer({ min: 1, max: 4 }),
        query,
        async (changed, times, each) => {
          for (let i = 0; i < times; i += 1) {
            for (const { key, words } of changed) {
              const current = present.get(key);
              if (current) await wordIndex.remove(db, [current]);
              const replaced = { key, words: { title: words.all.slice(i), all: words.all } };
              await wordIndex.add(db, [replaced]);
              present.set(key, replaced);
            }
          }
          await expectMatches(each, -1, 10_000);
          for (const document of changed) {
            await wordIndex.remove(db, [present.get(document.key) as IndexedDocument]);
            await wordIndex.add(db, [document]);
            present.set(document.key, document);
          }
        },
      ),
      { numRuns: 30 },
    );
    await expectSameTerms();
  });

  test('matches the expected documents after batches of changes in one transaction', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(changes(200), { minLength: 1, maxLength: 4 }),
        query,
        async (batches, each) => {
          const keys = new Set<number>();
          async function* toggleBatches() {
            for (const batch of batches) {
              const isNew = ({ key }: IndexedDocument) => !keys.has(key);
              const changed = batch.filter(isNew);
              for (const { key } of changed) keys.add(key);
              yield toggle(changed);
            }
          }
          await db.transaction().execute((trx) => wordIndex.changeMany(trx, toggleBatches()));
          await expectMatches(each, -1, 10_000);
        },
      ),
      { numRuns: 20 },
    );
    await expectSameTerms();
  });

  test('has no blocks after all documents are removed', async () => {
    await wordIndex.remove(db, [...present.values()]);
    present.clear();
    expect(await countRows(db, 'word_blocks')).toBe(0);
  });
});
