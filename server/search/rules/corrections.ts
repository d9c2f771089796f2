import type { QueryWord } from '../../text/words/query.ts';
import { isCorrectable } from '../../text/words/tokenize.ts';
import { type Dictionary, documentsWithPrefix } from '../dictionary/dictionary.ts';
import { similarWords } from '../dictionary/similar-words.ts';

/** Shorter words are corrected by one edit only. */
const MIN_LENGTH_FOR_TWO_EDITS = 8;

/** A replacement of a word occurs in at least this many times as many spaces as the typed word. */
export const MIN_FREQUENCY_RATIO = 20;

/** Maximum number of trie nodes to visit for one query. This takes about a millisecond. The rarest words come first. */
const MAX_DICTIONARY_NODES = 30_000;

/**
 * Returns the correction of each word; undefined if it is not misspelled.
 * @param similarTitleWords words one edit away, which are more probable than corrections by two edits
 */
export function correctWords(
  dictionary: Dictionary,
  words: readonly QueryWord[],
  similarTitleWords: readonly string[][],
): (string | undefined)[] {
  let nodes = MAX_DICTIONARY_NODES;
  const corrections: (string | undefined)[] = words.map(() => undefined);
  const byRarity = words
    .map(({ word }, i) => ({ word, i, documents: documentsWithPrefix(dictionary, word) }))
    .filter(({ word }) => isCorrectable(word))
    .sort((a, b) => a.documents - b.documents);
  for (const { word, i, documents } of byRarity) {
    const isSimilar = (similarTitleWords[i] as string[]).length > 0;
    const maxDistance = word.length >= MIN_LENGTH_FOR_TWO_EDITS && !isSimilar ? 2 : 1;
    const minTotal = documents * MIN_FREQUENCY_RATIO;
    const { found, visited } = similarWords(dictionary.trie, word, maxDistance, minTotal, nodes);
    nodes -= visited;
    const [best] = found.sort((a, b) => b.total - a.total || (a.word < b.word ? -1 : 1));
    if (best) corrections[i] = best.word;
  }
  return corrections;
}
