import { stemmer as stemEnglish } from '@orama/stemmers/english';
import { stemmer as stemRussian } from '@orama/stemmers/russian';

const MIN_STEM_LENGTH = 3;

/** A shorter part of a word is the prefix of too many other words. */
const MIN_STEM_SHARE = 0.5;

const STEMMERS: [RegExp, (word: string) => string][] = [
  [/^[a-z]{4,}$/, stemEnglish],
  // Folding replaces й by и, but the stemmer expects й in endings such as ой and ый.
  [/^\p{sc=Cyrillic}{4,}$/u, (word) => stemRussian(word.replace(/(?<=[еоуы])и$/u, 'й'))],
];

/**
 * Returns the prefix that a folded word shares with its inflected forms, found with Snowball stemmers: `librar` for
 * `libraries`. Returns undefined if it is the word itself or too short to be useful.
 */
export function inflectionPrefix(word: string): string | undefined {
  const stem = STEMMERS.find(([pattern]) => pattern.test(word))?.[1];
  if (!stem) return undefined;
  const stemmed = stem(word);
  // Stemmers also replace letters, so the prefix can be shorter than the stem.
  let length = 0;
  while (length < stemmed.length && stemmed[length] === word[length]) length += 1;
  // The stem of `library` and `libraries` is `librari`, but that of `taxi` and `taxis` has an `i` of its own.
  const hasReplacedY = stemmed.endsWith('i') && ![stemmed, `${stemmed}s`].includes(word);
  if (hasReplacedY) length = Math.min(length, stemmed.length - 1);
  const isUseful =
    length >= MIN_STEM_LENGTH && length >= word.length * MIN_STEM_SHARE && length < word.length;
  return isUseful ? word.slice(0, length) : undefined;
}
