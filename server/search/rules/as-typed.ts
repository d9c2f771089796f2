import type { QueryWord } from '../../text/words/query.ts';
import type { Dictionary } from '../dictionary/dictionary.ts';
import { type Alternative, type Interpretation, interpret } from '../interpretation.ts';
import { inflectionsOf } from './other-forms.ts';
import { findShorterNames } from './shorter-names.ts';
import { findOptionalWords } from './stop-words.ts';

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
  const text = { text: query };
  if (isStrict)
    return interpret(
      words.map(({ typed }): Alternative => [[typed], []]),
      text,
    );
  const alternatives = words.map(
    ({ typed, word }): Alternative => [[typed], inflectionsOf(dictionary, word)],
  );
  const names = findShorterNames(dictionary, words);
  const optional = findOptionalWords(dictionary, words);
  return interpret(alternatives, { ...text, names, optional });
}

/** Returns the words that an interpretation requires. */
export function requiredWords<T>(words: readonly T[], { optional }: Interpretation): T[] {
  return words.filter((_, i) => !optional.includes(i));
}
