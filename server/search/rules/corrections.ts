import type { QueryWord } from '../../text/words/query.ts';
import { isCorrectable } from '../../text/words/tokenize.ts';
import { type Dictionary, documentsWithPrefix } from '../dictionary/dictionary.ts';
import { type SimilarWord, similarWords } from '../dictionary/similar-words.ts';

/** Shorter words are corrected by one edit only. */
const MIN_LENGTH_FOR_TWO_EDITS = 8;

/** A replacement of a word occurs in at least this many times as many spaces as the typed word. */
export const MIN_FREQUENCY_RATIO = 20;

/** A correction with the same letters counts as if it were this many times as frequent. */
const ANAGRAM_WEIGHT = 20;

/** Corrections whose weight is a smaller share of the frequency of the best one are ignored. */
const MIN_SHARE_OF_BEST = 0.1;

/** Maximum number of corrections per word, if the query has several words. */
const MAX_CORRECTIONS = 3;

/** Maximum number of trie nodes to visit for one query. This takes about a millisecond. The rarest words come first. */
const MAX_DICTIONARY_NODES = 30_000;

/**
 * Returns the corrections of each word, the most probable one first; an empty list if it is not misspelled.
 * @param similarTitleWords words one edit away, which are more probable than corrections by two edits
 */
export function correctWords(
  dictionary: Dictionary,
  words: readonly QueryWord[],
  similarTitleWords: readonly string[][],
): string[][] {
  let nodes = MAX_DICTIONARY_NODES;
  const corrections: string[][] = words.map(() => []);
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
    const weightOf = ({ word: correction, total }: SimilarWord) =>
      isAnagram(correction, word) ? total * ANAGRAM_WEIGHT : total;
    const [best, ...others] = found.sort(
      (a, b) => weightOf(b) - weightOf(a) || (a.word < b.word ? -1 : 1),
    );
    if (!best) continue;
    const ties = others.filter((each) => weightOf(each) >= best.total * MIN_SHARE_OF_BEST);
    // Several corrections of a word are useful only if the other words of the query decide between them.
    const count = words.length === 1 ? 1 : MAX_CORRECTIONS;
    corrections[i] = [best, ...ties].slice(0, count).map((each) => each.word);
  }
  return corrections;
}

/**
 * Whether two words have the same letters. Such a correction only swaps letters. A word has few swaps and many other
 * edits, so a word that is reached by a swap is rarely found by chance.
 */
function isAnagram(a: string, b: string): boolean {
  return [...a].sort().join('') === [...b].sort().join('');
}
