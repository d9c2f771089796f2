import * as lists from 'stopword';
import type { QueryWord } from '../../text/words/query.ts';
import { indexWords } from '../../text/words/tokenize.ts';
import { type Dictionary, documentsWith } from '../dictionary/dictionary.ts';

/**
 * Stop words in at least this share of the spaces are optional. Rarer ones can be what a query is about: `man` and
 * `die` are stop words, too.
 */
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

const STOP_WORDS = new Set(LANGUAGES.flat().flatMap(indexWords));

/** Returns whether a folded word is a stop word, such as `the`, `und` or `les`. */
export function isStopWord(word: string): boolean {
  return STOP_WORDS.has(word);
}

/**
 * Returns the indexes of the words that a match need not have: frequent stop words. Never includes the last word,
 * because it may be incomplete.
 */
export function findOptionalWords(dictionary: Dictionary, words: readonly QueryWord[]): number[] {
  const minDocuments = Math.max(1, dictionary.spaces * MIN_SHARE_OF_SPACES);
  const optional = [...words.keys()].slice(0, -1).filter((i) => {
    const { word } = words[i] as QueryWord;
    return isStopWord(word) && documentsWith(dictionary, word) >= minDocuments;
  });
  return words.length - optional.length >= MIN_REMAINING_WORDS ? optional : [];
}

/** Returns the indexes of the words that are no stop words; all if there are none. */
export function findMeaningfulWords(words: readonly QueryWord[]): number[] {
  const meaningful = [...words.keys()].filter((i) => !isStopWord((words[i] as QueryWord).word));
  return meaningful.length > 0 ? meaningful : [...words.keys()];
}
