import type { Database } from './schema.ts';

/** A condition on the words of a document. */
export type WordPattern =
  | { term: string; isPrefix: boolean }
  | { allOf: WordPattern[] }
  | { anyOf: WordPattern[] };

/**
 * The words that a pattern applies to:
 * - `title`: those of the title
 * - `all`: those of title and description together
 * - `other`: as `all`, but without the documents whose title matches
 */
export type WordScope = 'title' | 'all' | 'other';

/** Selects the documents that match `pattern` in `scope`. */
export interface WordQuery {
  pattern: WordPattern;
  scope: WordScope;
}

/** The part of the word index to search. */
export interface WordRange {
  /** Only keys greater than this. */
  after: number;
  limit: number;
  /** How many entries of the index the search may read, approximately. */
  maxEntries: number;
}

/** How many documents have which terms, to estimate the cost of a search. */
export interface TermStatistics {
  /** Number of all documents. */
  documents: number;
  /** Estimates how many documents have a term, or terms with this prefix. */
  documentsWith(term: string, isPrefix: boolean): number;
}

export interface FoundKeys {
  /** In ascending order. */
  keys: number[];
  /** The last key that was searched; Infinity at the end. */
  reached: number;
}

export interface IndexedDocument {
  /** `public_spaces.key` */
  key: number;
  words: { title: string[]; all: string[] };
}

/** The full-text index of public spaces. */
export interface WordIndex {
  add(db: Database, documents: readonly IndexedDocument[]): Promise<void>;
  /** @param keys see `IndexedDocument.key` */
  remove(db: Database, keys: readonly number[]): Promise<void>;
  /**
   * Merges the index in one step, for fast searches after many additions. This also deletes the words of removed
   * documents. Maintenance does not call it, but merges in small steps.
   */
  optimize(db: Database): Promise<void>;
  /** Removes all documents. */
  clear(db: Database): Promise<void>;
  /**
   * Returns keys of matching documents, read by one statement of a few milliseconds. May return none although there are
   * matches after `reached`.
   * @returns undefined if the statement would read more than `maxEntries`; otherwise also how many it has read,
   *   approximately
   */
  find(
    db: Database,
    query: WordQuery,
    range: WordRange,
    statistics: TermStatistics,
  ): Promise<(FoundKeys & { entries: number }) | undefined>;
  /**
   * Returns each term of scope `all` with its number of documents, ordered by the bytes of the term: those of the words,
   * and those that `find` adds to queries, which begin with a character that does not begin a word.
   */
  terms(db: Database): AsyncIterable<{ term: string; documents: number }>;
}
