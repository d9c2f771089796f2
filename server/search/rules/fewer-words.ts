import { queryWords } from '../../text/words/query.ts';
import { type Dictionary, documentsWithPrefix } from '../dictionary/dictionary.ts';
import { type Alternative, type Interpretation, interpret } from '../interpretation.ts';

/** Maximum number of words of which some can be missing. With more, the index would search for many combinations. */
const MAX_WORDS = 4;

/**
 * Returns interpretations with the rarest words of a query. Each requires one word less than the one before. The last
 * one is the rarest word alone. Any word can be missing, because frequencies do not show which words matter to the user.
 * Words without matches are omitted.
 * @param documents approximate number of spaces that match each word alone
 */
export function withFewerWords(
  words: readonly Alternative[],
  documents: readonly number[],
): Interpretation[] {
  const frequency = (i: number) => documents[i] ?? 0;
  const rarestFirst = [...words.keys()]
    .filter((i) => frequency(i) > 0)
    .sort((a, b) => frequency(a) - frequency(b) || a - b);
  const rarest = (count: number) =>
    rarestFirst
      .slice(0, count)
      .sort((a, b) => a - b)
      .map((i) => words[i] as Alternative);
  const kept = rarest(MAX_WORDS);
  const mostWords = Math.min(kept.length, words.length - 1);
  return Array.from({ length: mostWords }, (_, i) => {
    const count = mostWords - i;
    return count === 1 ? interpret(rarest(1)) : interpret(kept, { missing: kept.length - count });
  });
}

/** Estimates how many spaces match a text, from its rarest word. */
export function estimateDocuments(dictionary: Dictionary, text: string): number {
  return Math.min(
    ...queryWords(text).map(({ word, anyOf: [bigrams = []], isUnspaced }) =>
      isUnspaced
        ? Math.min(...bigrams.map((bigram) => documentsWithPrefix(dictionary, bigram.text)))
        : documentsWithPrefix(dictionary, word),
    ),
  );
}
