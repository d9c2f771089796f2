import * as lists from 'stopword';
import type { QueryWord } from '../../text/words/query.ts';
import { indexWords } from '../../text/words/tokenize.ts';
import { type Dictionary, documentsWith } from '../dictionary/dictionary.ts';

/** Words in at least this share of the spaces say little. Rarer stop words can be what a query is about: `man`, `die`. */
const MIN_SHARE_OF_SPACES = 1 / 50;

/** Stop words are optional only if this many words remain. */
const MIN_REMAINING_WORDS = 2;

const LANGUAGES = [
  lists.eng,
  lists.deu,
  lists.fra,
  lists.spa,
  lists.por,
  lists.ita,
  lists.nld,
  lists.rus,
  lists.pol,
  lists.tur,
];

/** All stop words, folded. */
export const STOP_WORDS = new Set(LANGUAGES.flat().flatMap(indexWords));

/** Returns whether a folded word is a stop word, such as `the`, `und` or `les`. */
export function isStopWord(word: string): boolean {
  return STOP_WORDS.has(word);
}

/** Returns whether many spaces have a word: at least 2% of all, and at least `minSpaces`. */
export function isFrequent(dictionary: Dictionary, word: string, minSpaces = 1): boolean {
  const min = Math.max(minSpaces, dictionary.spaces * MIN_SHARE_OF_SPACES);
  return documentsWith(dictionary, word) >= min;
}

/**
 * Returns the indexes of the words that a match need not have: frequent stop words. Never includes the last word,
 * because it may be incomplete.
 */
export function findOptionalWords(dictionary: Dictionary, words: readonly QueryWord[]): number[] {
  const optional = [...words.keys()].slice(0, -1).filter((i) => {
    const { word } = words[i] as QueryWord;
    return isStopWord(word) && isFrequent(dictionary, word);
  });
  return words.length - optional.length >= MIN_REMAINING_WORDS ? optional : [];
}

/** Returns the indexes of the words that are no stop words; all if there are none. */
export function findMeaningfulWords(words: readonly QueryWord[]): number[] {
  const meaningful = [...words.keys()].filter((i) => !isStopWord((words[i] as QueryWord).word));
  return meaningful.length > 0 ? meaningful : [...words.keys()];
}
