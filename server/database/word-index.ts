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
  /** Bounds the cost: only documents with a slice term that begins with one of `prefixes`. See `search/slices.ts`. */
  within?: { prefixes: readonly string[] };
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
  /** Returns the keys of matching documents in ascending order. */
  find(db: Database, query: WordQuery, range: WordRange): Promise<number[]>;
  /** Returns each term of scope `all` with its number of documents, ordered by the bytes of the term. */
  terms(db: Database): AsyncIterable<{ term: string; documents: number }>;
}
