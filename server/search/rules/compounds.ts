import { type Dictionary, documentsWithPrefix, hasManyMatches } from '../dictionary/dictionary.ts';
import { wordsEndingWith } from '../dictionary/words-ending.ts';
import { type Alternative, type Interpretation, interpretWithForms } from '../interpretation.ts';

/** The more words a query has, the more probable is another reason for few results. */
const MAX_WORDS = 2;

/** Shorter words are the end of too many others by chance: `great` is not a compound of `reat`. */
const MIN_LENGTH = 5;

const MAX_COMPOUNDS = 5;

/**
 * Bounds the time of a call to a few milliseconds. A real word visits at most a quarter of the nodes. The dictionary of
 * 150,000 spaces of different subjects has 330,000 nodes.
 */
const MAX_DICTIONARY_NODES = 300_000;

/**
 * Returns an interpretation in which words that end with a word of a short query match, too: `localforage` for
 * `forage`. A search for their first parts finds them as prefixes.
 */
export function withCompounds(
  dictionary: Dictionary,
  words: readonly Alternative[],
): Interpretation | undefined {
  // Few spaces match a misspelled word, whatever the other one is.
  const isKnown = words.every(([[text = '']]) => documentsWithPrefix(dictionary, text) > 0);
  if (words.length > MAX_WORDS || !isKnown) return undefined;
  return interpretWithForms('compounds', words, (word) => compoundsOf(dictionary, word));
}

/** Returns the most frequent words that end with a word. */
function compoundsOf(dictionary: Dictionary, word: string): string[] {
  if (word.length < MIN_LENGTH || hasManyMatches(dictionary, word)) return [];
  return wordsEndingWith(dictionary.trie, word, MAX_DICTIONARY_NODES)
    .sort((a, b) => b.documents - a.documents || (a.word < b.word ? -1 : 1))
    .slice(0, MAX_COMPOUNDS)
    .map((compound) => compound.word);
}
