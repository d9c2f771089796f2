import type { WordScope } from '../../word-index.ts';

/**
 * Prefixes with up to this many letters have a posting list. For a longer prefix, a search reads all words that begin
 * with it. There are usually few of them, and they are neighbours in the index. A change needs a migration like
 * 0002-longer-prefixes.ts, so that the index is rebuilt.
 */
const MAX_PREFIX_LETTERS = 10;

// Both marks sort before every word.
const PREFIX_MARK = '!';
const TITLE_MARK = '"';

/** Sorts before every word of scope `all`, and after all other terms. */
export const FIRST_WORD = '#';

/**
 * A term of the index: a word or prefix with its marks, as the bytes of its UTF-8 encoding, one per character. Unlike
 * other strings, these sort in JavaScript as they do in PostgreSQL.
 */
export type Term = string;

/** Sorts after every term, because UTF-8 never contains this byte. */
export const AFTER_ALL_TERMS: Term = '\xff';

/** A word of scope `all`, or a word of scope `title` with its mark. */
export type MarkedWord = string;

export function markTitleWord(word: string): MarkedWord {
  return TITLE_MARK + word;
}

export function isTitleWord(word: MarkedWord): boolean {
  return word.startsWith(TITLE_MARK);
}

/** Returns a word or the beginning of a word with the mark of its scope. */
export function markWord(word: string, scope: WordScope): MarkedWord {
  return scope === 'title' ? markTitleWord(word) : word;
}

/** Returns the term of the documents that contain a word. */
export function wordTerm(word: MarkedWord): Term {
  const bytes = Buffer.from(word);
  return bytes.length === word.length ? word : bytes.toString('latin1');
}

/** Returns the word of a term of scope `all`. */
export function wordOfTerm(term: Term): string {
  return Buffer.from(term, 'latin1').toString();
}

/** Returns the term of a prefix, with the mark of its scope; undefined if the prefix is too long to have a list. */
export function prefixTerm(prefix: string, scope: WordScope): Term | undefined {
  return [...prefix].length > MAX_PREFIX_LETTERS
    ? undefined
    : PREFIX_MARK + wordTerm(markWord(prefix, scope));
}

/** Returns the terms under which a document with the word is indexed: the word and its prefixes. */
export function termsOfMarkedWord(word: MarkedWord): Term[] {
  const terms = [wordTerm(word)];
  if (isSliceTerm(word)) return terms;
  let end = isTitleWord(word) ? TITLE_MARK.length : 0;
  for (let letters = 1; letters <= MAX_PREFIX_LETTERS && end < word.length; letters += 1) {
    // A letter outside the Basic Multilingual Plane has two UTF-16 code units.
    end += (word.codePointAt(end) as number) > 0xffff ? 2 : 1;
    terms.push(PREFIX_MARK + wordTerm(word.slice(0, end)));
  }
  return terms;
}

/**
 * Whether the word is a slice term, see `search/slices.ts`. Searches use its range of keys, so it needs no prefixes.
 */
function isSliceTerm(word: MarkedWord): boolean {
  return word.startsWith('#');
}
