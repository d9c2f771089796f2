import { stemmer as stemEnglish } from '@orama/stemmers/english';
import { stemmer as stemRussian } from '@orama/stemmers/russian';
import type { Dictionary } from '../dictionary/dictionary.ts';
import { findNode, wordsBelow } from '../dictionary/trie.ts';
import { isStopWord } from './stop-words.ts';

const STEMMERS: [RegExp, (word: string) => string][] = [
  [/^[a-z]{4,}$/, stemEnglish],
  // Folding replaces й by и, but the stemmer expects й in endings such as ой and ый.
  [/^\p{sc=Cyrillic}{4,}$/u, (word) => stemRussian(word.replace(/(?<=[еоуы])и$/u, 'й'))],
];

/** Too many words begin with fewer letters. */
const MIN_SHARED_LENGTH = 3;

/** Longer endings derive another word: `organization` is not a form of `organ`. */
const MAX_ENDING_LENGTH = 5;

/** A person or thing that does something, such as a container. Its verb is another word, often far more frequent. */
const AGENT_NOUN = /[eo]rs?$/;

const MAX_INFLECTIONS = 3;

/** Bounds the cost of a call to about 0.2 ms. */
const MAX_DICTIONARY_NODES = 2_000;

/**
 * Returns the most frequent other forms of a folded word: `library` for `libraries`. Forms have the same stem by
 * Snowball's stemmers for English and Russian. `contains` is not a form of `containers`. Forms that begin with the word
 * itself are left out, because a search for the word finds them anyway.
 */
export function inflectionsOf(dictionary: Dictionary, word: string): string[] {
  // Stop words are in every other text.
  const stem = isStopWord(word) ? undefined : stemOf(word);
  if (stem === undefined) return [];
  return similarForms(dictionary, word, stem)
    .filter(({ form }) => stemOf(form) === stem && !isVerbOf(form, word))
    .sort((a, b) => b.documents - a.documents || (a.form < b.form ? -1 : 1))
    .slice(0, MAX_INFLECTIONS)
    .map(({ form }) => form);
}

/** Returns the words that begin with the letters that a word and its stem share, except those that begin with the word. */
function similarForms(
  { trie }: Dictionary,
  word: string,
  stem: string,
): { form: string; documents: number }[] {
  const shared = word.slice(0, sharedLength(word, stem));
  const endingLength = word.length - shared.length;
  // Without an ending, every other form begins with the word.
  if (shared.length < MIN_SHARED_LENGTH || endingLength === 0 || endingLength > MAX_ENDING_LENGTH) {
    return [];
  }
  const node = findNode(trie, shared);
  if (node === undefined) return [];
  return wordsBelow(trie, node, MAX_ENDING_LENGTH, MAX_DICTIONARY_NODES)
    .map(({ ending, documents }) => ({ form: shared + ending, documents }))
    .filter(({ form }) => !form.startsWith(word));
}

/**
 * Whether a form belongs to the verb of an agent noun, such as `contains` to `containers`. `covers` only looks like an
 * agent noun: its form `covered` begins with `cover`.
 */
function isVerbOf(form: string, noun: string): boolean {
  const singular = noun.replace(/s$/, '');
  return AGENT_NOUN.test(noun) && !AGENT_NOUN.test(form) && !form.startsWith(singular);
}

/** Returns the stem of a folded word by Snowball; undefined if it is too short or in another script. */
export function stemOf(word: string): string | undefined {
  return STEMMERS.find(([pattern]) => pattern.test(word))?.[1](word);
}

/** The number of letters that all forms with this stem begin with. */
function sharedLength(word: string, stem: string): number {
  let length = 0;
  while (length < stem.length && stem[length] === word[length]) length += 1;
  // The stem of both `library` and `libraries` is `librari`.
  return stem.endsWith('i') ? Math.min(length, stem.length - 1) : length;
}
