import type { WordScope } from '../engine.ts';

/**
 * Lengths in letters of the prefixes that have a list. Lists for all prefixes would take twice the space. A prefix of
 * another length is searched as the next longer prefixes with a list. There are usually few of them.
 */
const PREFIX_LENGTHS = [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20];

export const TITLE_MARK = '=';
export const PREFIX_MARK = '*';

/** Returns the term of the documents that contain a word. */
export function wordTerm(word: string, scope: WordScope): string {
  return scope === 'title' ? TITLE_MARK + word : word;
}

/** Returns the smallest of PREFIX_LENGTHS that is at least `letters`, or Infinity. */
export function prefixLength(letters: number): number {
  return PREFIX_LENGTHS.find((length) => length >= letters) ?? Infinity;
}

/** Returns the term of the documents with a word that begins with a prefix of one of PREFIX_LENGTHS. */
export function prefixTerm(prefix: string, scope: WordScope): string {
  return PREFIX_MARK + wordTerm(prefix, scope);
}

/** Returns the terms of a document with a word in `scope`: the word and its prefixes. */
export function termsOfWord(word: string, scope: WordScope): string[] {
  const terms = [wordTerm(word, scope)];
  if (isSliceTerm(word)) return terms;
  let end = 0;
  let letters = 0;
  for (const length of PREFIX_LENGTHS) {
    for (; letters < length && end < word.length; letters += 1) {
      // A letter outside the Basic Multilingual Plane has two UTF-16 code units.
      end += (word.codePointAt(end) as number) > 0xffff ? 2 : 1;
    }
    if (letters < length) break;
    terms.push(prefixTerm(word.slice(0, end), scope));
  }
  return terms;
}

/** This index finds slices by their range of keys. Their terms are never searched, so they need no prefixes. */
function isSliceTerm(word: string): boolean {
  return word.startsWith('#');
}
