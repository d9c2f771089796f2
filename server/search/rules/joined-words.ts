import type { QueryWord } from '../../text/words/query.ts';
import { type Dictionary, documentsWithPrefix } from '../dictionary/dictionary.ts';

/** Maximum number of pairs of adjacent words that also match joined. Three words joined to one are two pairs. */
const MAX_JOINS = 2;

/** Shorter joined words are prefixes of too many other words. */
const MIN_JOINED_LENGTH = 4;

/**
 * Finds two or three adjacent words that form a known word. Returns the index of the first word of each pair to join,
 * in ascending order: at most `MAX_JOINS`, of the most frequent joined words.
 */
export function findJoins(dictionary: Dictionary, words: readonly QueryWord[]): number[] {
  const known: { pairs: number[]; documents: number }[] = [];
  for (const i of words.keys()) {
    for (const pairs of [[i], [i, i + 1]]) {
      const group = words.slice(i, i + pairs.length + 1);
      const joined = group.map(({ word }) => word).join('');
      const isJoinable =
        group.length > pairs.length &&
        joined.length >= MIN_JOINED_LENGTH &&
        !group.some(({ isUnspaced }) => isUnspaced);
      const documents = isJoinable ? documentsWithPrefix(dictionary, joined) : 0;
      if (documents > 0) known.push({ pairs, documents });
    }
  }
  known.sort((a, b) => b.documents - a.documents);
  let joins = new Set<number>();
  for (const { pairs } of known) {
    const extended = new Set([...joins, ...pairs]);
    if (extended.size <= MAX_JOINS) joins = extended;
  }
  return [...joins].sort((a, b) => a - b);
}
