import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type {
  Database,
  IndexedDocument,
  WordPattern,
  WordQuery,
} from '../../../server/database/engine.ts';
import { connect } from '../../../server/database/postgresql/dialect.ts';
import { up } from '../../../server/database/postgresql/migrations/0001-initial.ts';
import { openPool } from '../../../server/database/postgresql/pool.ts';
import { wordIndex } from '../../../server/database/postgresql/word-index.ts';
import { type PostgresqlServer, startPostgresql } from '../../support/postgresql.ts';
import { randomNumbers } from '../../support/random.ts';

const FREQUENT = ['a', 'bread', 'oven', 'ovens', 'über', '東京'];
const RARE = ['rye', 'b', 'breadcrumbs', 'sourdough', 'sourdoughbread', 'internationalization'];
const FAMILY = Array.from({ length: 40 }, (_, i) => `sourdoughs${i.toString(36)}x`);
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
}, 60_000);

afterAll(async () => {
  await db.destroy();
  await server[Symbol.asyncDispose]();
});

function generateDocuments(count: number): IndexedDocument[] {
  const random = randomNumbers(3);
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
const key = fc.constantFrom(-1, ...documents.map((document) => document.key));

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
  }, 60_000);

  test('has the same documents after some were removed and added again', async () => {
    const changes = fc.uniqueArray(fc.constantFrom(...documents), {
      selector: (document) => document.key,
      minLength: 1,
      maxLength: 400,
    });
    await fc.assert(
      fc.asyncProperty(changes, query, async (changed, each) => {
        const removed = changed.filter((document) => present.has(document.key));
        const added = changed.filter((document) => !present.has(document.key));
        await wordIndex.remove(db, removed);
        for (const document of removed) present.delete(document.key);
        await wordIndex.add(db, added);
        for (const document of added) present.set(document.key, document);
        await expectMatches(each, -1, 10_000);
      }),
      { numRuns: 30 },
    );
    await wordIndex.remove(db, [...present.values()]);
    present.clear();
    const { count } = await db
      .selectFrom('word_blocks' as never)
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow();
    expect(count).toBe(0);
  }, 60_000);
});
