import { LEADING_ARTICLE } from '../../text/words/tokenize.ts';
import { type Dictionary, hasManyMatches } from '../dictionary/dictionary.ts';
import { type Alternative, type Interpretation, interpret } from '../interpretation.ts';

/** Shorter words have too little in common without their endings. */
const MIN_LENGTH = 6;

/** Most endings of most languages have at most this many letters. */
const ENDING_LENGTH = 2;

/**
 * Returns an interpretation in which the last two letters of words can differ: `navigateur` as `navigate`, a prefix of
 * `navigation`. Knows no language, and finds words that the dictionary lacks. Returns undefined if it changes no word.
 */
export function withBeginnings(
  dictionary: Dictionary,
  words: readonly Alternative[],
): Interpretation | undefined {
  const beginnings = words.map(([texts]) =>
    texts
      .filter((text) => /^\p{L}+$/v.test(text))
      .filter((text) => text.replace(LEADING_ARTICLE, '').length >= MIN_LENGTH)
      .map((text) => text.slice(0, -ENDING_LENGTH))
      .filter((beginning) => !hasManyMatches(dictionary, beginning)),
  );
  if (beginnings.every(({ length }) => length === 0)) return undefined;
  const alternatives = words.map(([texts, forms], i): Alternative => {
    return [[...texts, ...(beginnings[i] as string[])], forms];
  });
  return interpret(alternatives);
}
