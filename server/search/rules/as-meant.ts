import type { QueryWord } from '../../text/words/query.ts';
import type { Dictionary } from '../dictionary/dictionary.ts';
import { type Alternative, type Interpretation, interpret } from '../interpretation.ts';
import { correctWords } from './corrections.ts';
import { inflectionsOf } from './other-forms.ts';
import { splitWord } from './split-words.ts';
import { findMeaningfulWords } from './stop-words.ts';

/**
 * Returns the query that was probably meant, without stop words; undefined if it does not differ from the query as
 * typed.
 *
 * The texts for a word are its correction, similar words of titles, the word split in two, and last the word as typed.
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
    ...(corrections[i] === undefined ? [] : [corrections[i]]),
    ...(similar[i] as string[]),
    ...splitWord(dictionary, word),
  ]);
  const isOther = kept.length < words.length || replacements.some(({ length }) => length > 0);
  if (!isOther) return undefined;
  return interpret(
    kept.map(
      (word, i): Alternative => [
        [...new Set([...(replacements[i] as string[]), word.typed])],
        inflectionsOf(dictionary, word.word),
      ],
    ),
  );
}
