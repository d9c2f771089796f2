import { stemmer as stemEnglish } from '@orama/stemmers/english';
import { stemmer as stemRussian } from '@orama/stemmers/russian';

const MIN_STEM_LENGTH = 3;

/** A shorter part of a word is a prefix of too many others. */
const MIN_STEM_SHARE = 0.5;

const STEMMERS: [RegExp, (word: string) => string][] = [
  [/^[a-z]{4,}$/, stemEnglish],
  // Folding makes й an и, but endings such as ой and ый have one.
  [/^\p{sc=Cyrillic}{4,}$/u, (word) => stemRussian(word.replace(/(?<=[еоуы])и$/u, 'й'))],
];

/**
 * Returns the prefix that a folded word shares with its other forms, after Snowball's stemmers: `librar` for `libraries`.
 * Undefined if that is the word itself, or too short to tell anything.
 */
export function inflectionPrefix(word: string): string | undefined {
  const stem = STEMMERS.find(([pattern]) => pattern.test(word))?.[1];
  if (!stem) return undefined;
  const stemmed = stem(word);
  // Stemmers also replace letters: both `library` and `libraries` become `librari`.
  let length = 0;
  while (length < stemmed.length && stemmed[length] === word[length]) length += 1;
  const mayStandForY = stemmed.endsWith('i') && ![stemmed, `${stemmed}s`].includes(word);
  if (mayStandForY) length = Math.min(length, stemmed.length - 1);
  const isUseful =
    length >= MIN_STEM_LENGTH && length >= word.length * MIN_STEM_SHARE && length < word.length;
  return isUseful ? word.slice(0, length) : undefined;
}
