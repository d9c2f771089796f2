import type { WordScope } from '../engine.ts';

/**
 * Numbers of letters for which each prefix of a word has a list. Lists for all prefixes would take twice the space. A
 * prefix of another length is searched as the next longer prefixes that exist, of which there are few.
 */
const PREFIX_LENGTHS = [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20];

export const TITLE_MARK = '=';
export const PREFIX_MARK = '*';

/** Returns the term of the documents that contain a word. */
export function wordTerm(word: string, scope: WordScope): string {
  return scope === 'title' ? TITLE_MARK + word : word;
}

/** Returns the least number of letters, at least `letters`, for which prefixes have a list; Infinity if there is none. */
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

/** Slices are ranges of keys here, so their terms are only counted. */
function isSliceTerm(word: string): boolean {
  return word.startsWith('#');
}
