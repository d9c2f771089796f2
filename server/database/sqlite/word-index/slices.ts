import type { TermStatistics } from '../../word-index.ts';

/**
 * FTS5 cannot end a search at a rowid: if few documents match, it reads the lists of the words to their ends. So each
 * document also has a slice term: the mark, and its key in octal digits without the last ones. A query that also requires
 * a prefix of such a term searches a slice, an aligned range of keys.
 */
const SLICE_MARK = '#';
const RADIX = 8;
const DIGITS = 8;
const MIN_KEYS = 2 ** 14;

/** A range of keys. */
export interface Slice {
  /** The slice terms of its documents begin with this. */
  prefix: string;
  /** Approximate number of documents. */
  documents: number;
  lastKey: number;
}

/** Returns the slice term of the document with this key. */
export function sliceTerm(key: number): string {
  const digits = Math.floor(key / MIN_KEYS).toString(RADIX);
  return SLICE_MARK + digits.padStart(DIGITS, '0');
}

/** Returns the largest slice around a key that has at most `maxDocuments`, or the smallest one if all have more. */
export function sliceAround(key: number, maxDocuments: number, statistics: TermStatistics): Slice {
  const term = sliceTerm(key);
  let prefix = SLICE_MARK;
  const documents = () => statistics.documentsWith(prefix, true);
  while (prefix !== term && documents() > maxDocuments) prefix = term.slice(0, prefix.length + 1);
  const keys = MIN_KEYS * RADIX ** (term.length - prefix.length);
  return { prefix, documents: documents(), lastKey: (Math.floor(key / keys) + 1) * keys - 1 };
}
