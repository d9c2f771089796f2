import type { QueryWord } from '../../text/words/query.ts';
import type { Dictionary } from '../dictionary/dictionary.ts';
import { isFrequent } from './stop-words.ts';

/** In fewer spaces, a word can be what the query is about, whatever its share. */
const MIN_SPACES = 100;

/** Minimum length of both parts of a word. */
const MIN_PART_LENGTH = 2;

/** Each takes about 0.05 ms. */
const MAX_NAMES = 3;

/**
 * Returns the query without frequent words at its beginning or end, and likewise without parts of a single word: `react`
 * for `reactjs` or `react library`. * Returns the longest texts first.
 */
export function findShorterNames(dictionary: Dictionary, words: readonly QueryWord[]): string[] {
  const isAffix = (text: string) => isFrequent(dictionary, text, MIN_SPACES);
  const texts = words.map(({ word }) => word);
  const isRemovable = texts.map(isAffix);
  const names: string[] = [];
  for (let length = texts.length - 1; length > 0; length -= 1) {
    for (let from = 0; from + length <= texts.length; from += 1) {
      const to = from + length;
      const isRest = isRemovable.every((removable, i) => removable || (i >= from && i < to));
      if (isRest) names.push(texts.slice(from, to).join(' '));
    }
  }
  const single = texts.length === 1 ? (texts[0] as string) : '';
  for (let i = MIN_PART_LENGTH; i <= single.length - MIN_PART_LENGTH; i += 1) {
    const left = single.slice(0, i);
    const right = single.slice(i);
    if (isAffix(right)) names.push(left);
    if (isAffix(left)) names.push(right);
  }
  return [...new Set(names)].slice(0, MAX_NAMES);
}
