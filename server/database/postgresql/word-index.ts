import { sql } from 'kysely';
import type { IndexedDocument, WordIndex } from '../engine.ts';
import { addToLists, removeFromLists } from './word-blocks.ts';
import { findKeys } from './word-search.ts';
import { PREFIX_MARK, TITLE_MARK, termsOfWord } from './word-terms.ts';

const ROWS_PER_FETCH = 10_000;

/**
 * An inverted index: a posting list for each word and for most prefixes of words. The keys of a list are in the order
 * of search results.
 */
export const wordIndex: WordIndex = {
  async add(db, documents) {
    await addToLists(db, keysByTerm(documents));
  },

  async remove(db, documents) {
    await removeFromLists(db, keysByTerm(documents));
  },

  /** Does nothing, because this index has no segments to merge. */
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

/** Returns the keys of the documents with each term, in ascending order. */
function keysByTerm(documents: readonly IndexedDocument[]): Map<string, number[]> {
  const lists = new Map<string, number[]>();
  const listOf = (term: string) => {
    const list = lists.get(term) ?? [];
    lists.set(term, list);
    return list;
  };
  for (const scope of ['all', 'title'] as const) {
    // Cached, because words repeat and each has up to a dozen lists.
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
