import type { IndexedDocument } from '../../word-index.ts';
import { type MarkedWord, markTitleWord, type Term, termsOfMarkedWord } from './terms.ts';

/** Keys to add to and to remove from the list of a term, both in ascending order. */
export interface ListChange {
  term: Term;
  added: readonly number[];
  removed: readonly number[];
}

/** A document with all its words. */
export interface MarkedDocument {
  key: number;
  words: readonly MarkedWord[];
}

export function markDocument({ key, words }: IndexedDocument): MarkedDocument {
  return { key, words: [...words.all, ...words.title.map(markTitleWord)] };
}

/** Returns the changes of posting lists, in the order of their terms. */
export function listChangesOf(
  added: readonly MarkedDocument[],
  removed: readonly MarkedDocument[],
): ListChange[] {
  return toListChanges(keysByTerm(added), keysByTerm(removed));
}

/** @param added the keys to add for each term, in ascending order; likewise `removed` */
export function toListChanges(
  added: ReadonlyMap<Term, readonly number[]>,
  removed: ReadonlyMap<Term, readonly number[]>,
): ListChange[] {
  const terms = [...added.keys()];
  for (const term of removed.keys()) if (!added.has(term)) terms.push(term);
  return terms.sort().map((term) => ({
    term,
    added: added.get(term) ?? [],
    removed: removed.get(term) ?? [],
  }));
}

/** Returns the number of postings that changes add and remove. */
export function countPostings(changes: readonly ListChange[]): number {
  return changes.reduce((sum, { added, removed }) => sum + added.length + removed.length, 0);
}

/** Returns the keys of the documents with each term, in ascending order. */
function keysByTerm(documents: readonly MarkedDocument[]): Map<Term, number[]> {
  const lists = new Map<Term, number[]>();
  const listOf = (term: Term) => {
    const list = lists.get(term) ?? [];
    lists.set(term, list);
    return list;
  };
  // Cached, because words repeat and each word has several lists.
  const listsOfWords = new Map<MarkedWord, number[][]>();
  for (const { key, words } of documents.toSorted((a, b) => a.key - b.key)) {
    for (const word of words) {
      let listsOfWord = listsOfWords.get(word);
      if (!listsOfWord) {
        listsOfWord = termsOfMarkedWord(word).map(listOf);
        listsOfWords.set(word, listsOfWord);
      }
      // Several words of a document can have a prefix in common.
      for (const list of listsOfWord) if (list.at(-1) !== key) list.push(key);
    }
  }
  return lists;
}
