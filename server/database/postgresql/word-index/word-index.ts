import type { Database } from '../../engine.ts';
import type { WordIndex } from '../../word-index.ts';
import {
  addDocuments,
  clearIndex,
  mergeChanges,
  readCountDeltas,
  removeDocuments,
} from './changes.ts';
import { readWordSizes } from './read-blocks.ts';
import { PostgresqlWordReader } from './reader.ts';
import { changeMany } from './runs.ts';
import { AFTER_ALL_TERMS, type Term, wordOfTerm } from './terms.ts';

/**
 * An inverted index: a posting list for each word and each short prefix of a word. The keys of a list are in the order
 * of search results.
 */
export const wordIndex: WordIndex = {
  add: addDocuments,
  remove: removeDocuments,
  changeMany,

  /** Merges recent changes. The blocks themselves need no merging. */
  optimize: mergeChanges,

  clear: clearIndex,
  openReader: (db, planned) => new PostgresqlWordReader(db, planned),
  terms: readTerms,
};

/** Merges the terms of the blocks with those of the recent changes. */
async function* readTerms(db: Database): AsyncGenerator<{ term: string; documents: number }> {
  const deltas = await readCountDeltas(db);
  const changed = [...deltas].sort(([a], [b]) => (a < b ? -1 : 1));
  let next = 0;
  const newTermsBefore = function* (end: Term) {
    for (; next < changed.length; next += 1) {
      const [term, documents] = changed[next] as [Term, number];
      if (term >= end) return;
      if (documents > 0) yield { term: wordOfTerm(term), documents };
    }
  };
  for await (const { term, size } of readWordSizes(db)) {
    yield* newTermsBefore(term);
    const isChanged = changed[next]?.[0] === term;
    const documents = size + (isChanged ? (deltas.get(term) as number) : 0);
    if (isChanged) next += 1;
    if (documents > 0) yield { term: wordOfTerm(term), documents };
  }
  yield* newTermsBefore(AFTER_ALL_TERMS);
}
