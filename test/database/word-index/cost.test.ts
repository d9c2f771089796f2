import { beforeAll, describe, expect, test } from 'vitest';
import { estimateEntries } from '../../../server/database/sqlite/word-index/cost.ts';
import type {
  TermStatistics,
  WordPattern,
  WordQuery,
} from '../../../server/database/word-index.ts';
import { statisticsOf } from '../../../server/search/dictionary/dictionary.ts';
import { dictionaryOf } from '../../search/dictionary/dictionary-of.ts';

let statistics: TermStatistics;

beforeAll(async () => {
  const documents = { bread: 600, breads: 300, oven: 90, rye: 30 };
  statistics = statisticsOf(await dictionaryOf(documents, { spaces: 10_000, minDocuments: 5 }));
});

const word = (term: string): WordPattern => ({ term, isPrefix: false });
const prefix = (term: string): WordPattern => ({ term, isPrefix: true });
const cost = (pattern: WordPattern, rest: Partial<WordQuery> = {}, documents = 10_000) =>
  estimateEntries({ ...statistics, documents }, { pattern, scope: 'all', ...rest }, Infinity);

describe('estimateEntries', () => {
  test('counts the documents with a word, or with any word that begins with it', () => {
    expect(cost(word('bread'))).toBe(600);
    expect(cost(prefix('bread'))).toBe(900);
  });

  test('counts `minDocuments` for a word missing from the dictionary', () => {
    expect(cost(prefix('zuk'))).toBe(5);
  });

  test('counts up to ten entries for each document with the rarest part, in each list of a conjunction', () => {
    expect(cost({ allOf: [word('bread'), word('rye')] })).toBe(10 * 30 + 30);
    expect(cost({ allOf: [word('bread'), word('oven'), word('rye')] })).toBe(10 * 30 + 90 + 30);
  });

  test('adds up the parts of an alternative', () => {
    expect(cost({ anyOf: [word('bread'), word('oven')] })).toBe(600 + 90);
  });

  test('counts no more entries of each term of an alternative than the limit', () => {
    const either: WordPattern = { anyOf: [word('bread'), word('rye')] };
    const limited = (query: WordQuery) => estimateEntries(statistics, query, 40);
    expect(limited({ pattern: word('bread'), scope: 'all' })).toBe(40);
    expect(limited({ pattern: either, scope: 'all' })).toBe(40 + 30);
    expect(limited({ pattern: either, scope: 'title' })).toBe(40 + 10);
  });

  test('counts all entries of conjunctions and of excluded titles, whatever the limit', () => {
    const both: WordPattern = { allOf: [word('bread'), word('rye')] };
    const limited = (query: WordQuery) => estimateEntries(statistics, query, 1);
    expect(limited({ pattern: both, scope: 'all' })).toBe(10 * 30 + 30);
    expect(limited({ pattern: { anyOf: [both, word('oven')] }, scope: 'all' })).toBe(330 + 1);
    expect(limited({ pattern: word('rye'), scope: 'other' })).toBe(30 + 10);
  });

  test('counts nested parts', () => {
    const either: WordPattern = { anyOf: [word('bread'), word('oven')] };
    expect(cost({ allOf: [either, word('rye')] })).toBe(10 * 30 + 90 + 30);
  });

  test('counts ten entries for each document that is looked up, and no more than the list has', () => {
    expect(cost(word('bread'), {}, 100)).toBe(600);
    expect(cost(word('bread'), {}, 10)).toBe(100);
    expect(cost({ allOf: [word('bread'), word('oven')] }, {}, 10)).toBe(100 + 90);
  });

  test('counts a third of the documents for a word in the title', () => {
    expect(cost(word('bread'), { scope: 'title' })).toBe(200);
  });

  test('counts excluded titles only for documents that may match', () => {
    expect(cost(word('bread'), { scope: 'other' })).toBe(600 + 200);
    const either: WordPattern = { allOf: [word('bread'), word('rye')] };
    expect(cost(either, { scope: 'other' })).toBe(330 + 330 / 3);
  });
});
