import type { QueryWord } from '../text/words/query.ts';
import type { Dictionary } from './dictionary/dictionary.ts';
import { type Alternative, type Interpretation, interpret } from './interpretation.ts';
import { correctWords } from './rules/corrections.ts';
import { findJoins } from './rules/joined-words.ts';
import { inflectionsOf } from './rules/other-forms.ts';
import { findShorterNames } from './rules/shorter-names.ts';
import { splitWord } from './rules/split-words.ts';
import { findMeaningfulWords, findOptionalWords } from './rules/stop-words.ts';

/**
 * Returns the query as typed. Unless it is strict, stop words are optional, and other forms of words and shorter names
 * match, too.
 */
export function interpretAsTyped(
  dictionary: Dictionary,
  query: string,
  words: readonly QueryWord[],
  isStrict: boolean,
): Interpretation {
  const alternatives = words.map(
    (word): Alternative => [[word.typed], isStrict ? [] : inflectionsOf(dictionary, word.word)],
  );
  const joins = findJoins(dictionary, words);
  return interpret('typed', alternatives, {
    text: query,
    names: isStrict ? [] : findShorterNames(dictionary, words, joins),
    joins,
    optional: isStrict ? [] : findOptionalWords(dictionary, words),
  });
}

/** Returns the words that an interpretation requires. */
export function requiredWords<T>(words: readonly T[], { optional }: Interpretation): T[] {
  return words.filter((_, i) => !optional.includes(i));
}

/**
 * Returns the query that was probably meant, without stop words; undefined if it does not differ from the query as
 * typed.
 *
 * The texts for a word are its corrections, similar words of titles, the word split in two, and last the word as typed.
 * For a run of a script written without spaces, they are the run split into words, and the run as typed. The first text
 * is the most probable one. The other forms of the typed word match, too.
 * @param similarTitleWords for each word, see `findSimilarTitleWords`
 */
export function interpretAsMeant(
  dictionary: Dictionary,
  words: readonly QueryWord[],
  similarTitleWords: readonly string[][] = [],
): Interpretation | undefined {
  const meaningful = findMeaningfulWords(words);
  const kept = meaningful.map((i) => words[i] as QueryWord);
  const similar = meaningful.map((i) => similarTitleWords[i] ?? []);
  const corrections = correctWords(dictionary, kept, similar);
  const replacements = kept.map((word, i) => [
    ...(corrections[i] as string[]),
    ...(similar[i] as string[]),
    ...splitWord(dictionary, word),
  ]);
  const isOther = kept.length < words.length || replacements.some(({ length }) => length > 0);
  if (!isOther) return undefined;
  const alternatives = kept.map(
    (word, i): Alternative => [
      [...new Set([...(replacements[i] as string[]), word.typed])],
      inflectionsOf(dictionary, word.word),
    ],
  );
  return interpret('meant', alternatives);
}
