import * as lists from 'stopword';
import { indexWords } from '../text/words/tokenize.ts';

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
