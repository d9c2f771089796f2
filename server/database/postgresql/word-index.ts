import { sql } from 'kysely';
import type { IndexedDocument, WordIndex } from '../engine.ts';
import { addToLists, removeFromLists } from './word-blocks.ts';
import { findKeys } from './word-search.ts';
import { PREFIX_MARK, TITLE_MARK, termsOfWord } from './word-terms.ts';

/** Lists of keys, one for each word and for most prefixes of words, so that each list is in the order of results. */
export const wordIndex: WordIndex = {
  async add(db, documents) {
    await addToLists(db, keysByTerm(documents));
  },

  async remove(db, documents) {
    await removeFromLists(db, keysByTerm(documents));
  },

  /** Does nothing: the index is never in a state that searches slowly. */
  async optimize() {},

  async clear(db) {
    await sql`TRUNCATE word_blocks`.execute(db);
  },

  find: findKeys,

  async *terms(db) {
    const rows = db
      .selectFrom(sql<{ term: string; size: number }>`word_blocks`.as('blocks'))
      .select(['term', ({ fn }) => fn.sum<number>('size').as('documents')])
      .where(({ not, eb }) => not(eb('term', 'like', `${TITLE_MARK}%`)))
      .where(({ not, eb }) => not(eb('term', 'like', `${PREFIX_MARK}%`)))
      .groupBy('term')
      .orderBy('term')
      .stream(ROWS_PER_FETCH);
    for await (const row of rows) yield row;
  },
};

const ROWS_PER_FETCH = 10_000;

/** Returns the keys of the documents with each term, in ascending order. */
function keysByTerm(documents: readonly IndexedDocument[]): Map<string, number[]> {
  const lists = new Map<string, number[]>();
  const listOf = (term: string) => {
    const list = lists.get(term) ?? [];
    lists.set(term, list);
    return list;
  };
  for (const scope of ['all', 'title'] as const) {
    // Words repeat, and each has up to a dozen lists.
    const listsOfWords = new Map<string, number[][]>();
    for (const { key, words } of documents.toSorted((a, b) => a.key - b.key)) {
      for (const word of words[scope]) {
        const listsOfWord = listsOfWords.get(word) ?? termsOfWord(word, scope).map(listOf);
        listsOfWords.set(word, listsOfWord);
        // Several words of a document can have a prefix in common.
        for (const list of listsOfWord) if (list.at(-1) !== key) list.push(key);
      }
    }
  }
  return lists;
}
