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

/** Whether a folded word is one of those that every text of its language has, such as `the`, `und` or `les`. */
export function isStopWord(word: string): boolean {
  return STOP_WORDS.has(word);
}
