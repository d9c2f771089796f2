import { type QueryWord, queryWords } from '../text/words/query.ts';
import { isCorrectable, segmentUnspaced } from '../text/words/tokenize.ts';
import { type Dictionary, documentsWith, documentsWithPrefix } from './dictionary/dictionary.ts';
import { type SimilarWord, similarWords } from './dictionary/similar-words.ts';
import { inflectionsOf } from './inflections.ts';
import type { Alternative, Alternatives } from './matcher.ts';
import { isStopWord } from './stop-words.ts';

/** Shorter words are corrected by one edit only. */
const MIN_LENGTH_FOR_TWO_EDITS = 8;

/** Corrections and the parts of a split word occur in at least this many times as many spaces as the typed word. */
const MIN_FREQUENCY_RATIO = 20;

/** A correction with the same letters counts as if it were this many times as frequent. */
const ANAGRAM_WEIGHT = 20;

/** Corrections whose weight is a smaller share of the frequency of the best one are ignored. */
const MIN_SHARE_OF_BEST = 0.1;

/** Maximum number of corrections per word, if the query has several words. */
const MAX_CORRECTIONS = 3;

/** Maximum number of trie nodes to visit for one query. This takes about a millisecond. The rarest words come first. */
const MAX_DICTIONARY_NODES = 30_000;

/** Minimum length of both parts of a split word. */
const MIN_PART_LENGTH = 2;

/**
 * Stop words in at least this share of the spaces are ignored. Rarer ones can be what a query is about: `man` and `die`
 * are stop words, too.
 */
const MIN_SHARE_OF_SPACES = 1 / 50;

/** Stop words are ignored only if this many words remain. */
const MIN_REMAINING_WORDS = 2;

/** Maximum number of words of a partial query. With more, the index would have to search for many combinations. */
const MAX_PARTIAL_WORDS = 4;

/** Maximum number of pairs of adjacent words that also match joined. Three words joined to one are two pairs. */
const MAX_JOINS = 2;

/** Shorter joined words are prefixes of too many other words. */
const MIN_JOINED_LENGTH = 4;

/**
 * Returns the indexes of the words to ignore: frequent stop words. Never includes the last word, because it may be
 * incomplete.
 */
export function findIgnoredWords(dictionary: Dictionary, words: readonly QueryWord[]): number[] {
  const minDocuments = Math.max(1, dictionary.spaces * MIN_SHARE_OF_SPACES);
  const ignored = [...words.keys()].slice(0, -1).filter((i) => {
    const { word } = words[i] as QueryWord;
    return isStopWord(word) && documentsWith(dictionary, word) >= minDocuments;
  });
  return words.length - ignored.length >= MIN_REMAINING_WORDS ? ignored : [];
}

/**
 * Finds two or three adjacent words that form a known word. Returns the index of the first word of each pair to join,
 * in ascending order: at most `MAX_JOINS`, of the most frequent joined words.
 */
export function findJoins(dictionary: Dictionary, words: readonly QueryWord[]): number[] {
  const known: { pairs: number[]; documents: number }[] = [];
  for (const i of words.keys()) {
    for (const pairs of [[i], [i, i + 1]]) {
      const group = words.slice(i, i + pairs.length + 1);
      const joined = group.map(({ word }) => word).join('');
      const isJoinable =
        group.length > pairs.length &&
        joined.length >= MIN_JOINED_LENGTH &&
        !group.some(({ isUnspaced }) => isUnspaced);
      const documents = isJoinable ? documentsWithPrefix(dictionary, joined) : 0;
      if (documents > 0) known.push({ pairs, documents });
    }
  }
  known.sort((a, b) => b.documents - a.documents);
  let joins = new Set<number>();
  for (const { pairs } of known) {
    const extended = new Set([...joins, ...pairs]);
    if (extended.size <= MAX_JOINS) joins = extended;
  }
  return [...joins].sort((a, b) => a - b);
}

/** Returns the other forms of each word. Stop words have none, because they are in every other text. */
export function findInflections(dictionary: Dictionary, words: readonly QueryWord[]): string[][] {
  return words.map(({ word }) => (isStopWord(word) ? [] : inflectionsOf(dictionary, word)));
}

/**
 * Returns the query that was probably meant, without stop words; undefined if it does not differ from the query as
 * typed.
 *
 * The texts for a word are its corrections, the word split in two, and last the word as typed. For a run of a script
 * written without spaces, they are the run split into words, and the run as typed. The first text is the most probable
 * one. The other forms of the typed word match, too.
 */
export function findOtherQuery(
  dictionary: Dictionary,
  words: readonly QueryWord[],
): Alternatives | undefined {
  const meaningful = words.filter(({ word }) => !isStopWord(word));
  const kept = meaningful.length > 0 ? meaningful : words;
  const corrections = correctWords(dictionary, kept);
  const replacements = kept.map((word, i) =>
    word.isUnspaced
      ? segmentWord(word)
      : [...(corrections.get(i) ?? []), ...splitWord(dictionary, word)],
  );
  const isOther = kept.length < words.length || replacements.some(({ length }) => length > 0);
  if (!isOther) return undefined;
  const inflections = findInflections(dictionary, kept);
  return kept.map((word, i) => [
    [...new Set([...(replacements[i] as string[]), typedText(word)])],
    inflections[i] as string[],
  ]);
}

/** A query with a minimum number of words to match. */
export interface PartialQuery {
  alternatives: Alternatives;
  /** How many of the words a space must match. */
  minWords: number;
}

/**
 * Returns the queries to try in turn if a query has too few results. They have its rarest words, and each requires one
 * word less than the one before. The last one is the rarest word alone. Any word can be missing, because frequencies do
 * not show which words matter to the user. Words without matches are omitted.
 * @param documents approximate number of spaces that match each word alone
 */
export function partialQueries(
  alternatives: Alternatives,
  documents: readonly number[],
): PartialQuery[] {
  const frequency = (i: number) => documents[i] ?? 0;
  const rarestFirst = [...alternatives.keys()]
    .filter((i) => frequency(i) > 0)
    .sort((a, b) => frequency(a) - frequency(b) || a - b);
  const rarest = (count: number) =>
    rarestFirst
      .slice(0, count)
      .sort((a, b) => a - b)
      .map((i) => alternatives[i] as Alternative);
  const kept = rarest(MAX_PARTIAL_WORDS);
  const mostWords = Math.min(kept.length, alternatives.length - 1);
  const queries: PartialQuery[] = [];
  for (let minWords = mostWords; minWords >= 1; minWords -= 1) {
    queries.push({ alternatives: minWords === 1 ? rarest(1) : kept, minWords });
  }
  return queries;
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

/** Returns the corrections of each misspelled word, by the index of the word. */
function correctWords(dictionary: Dictionary, words: readonly QueryWord[]): Map<number, string[]> {
  let nodes = MAX_DICTIONARY_NODES;
  const corrections = new Map<number, string[]>();
  const byRarity = words
    .map(({ word }, i) => ({ word, i, documents: documentsWithPrefix(dictionary, word) }))
    .filter(({ word }) => isCorrectable(word))
    .sort((a, b) => a.documents - b.documents);
  for (const { word, i, documents } of byRarity) {
    const maxDistance = word.length >= MIN_LENGTH_FOR_TWO_EDITS ? 2 : 1;
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
    corrections.set(
      i,
      [best, ...ties].slice(0, count).map((each) => each.word),
    );
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

/**
 * Splits a word into two known words, separated by a space. Chooses the split whose rarer part is most frequent.
 * Returns an empty list if there is none.
 */
function splitWord(dictionary: Dictionary, { word, anyOf }: QueryWord): string[] {
  // A word that was typed in parts already matches in parts.
  if (anyOf.length > 1) return [];
  const minDocuments = Math.max(
    dictionary.minDocuments,
    documentsWithPrefix(dictionary, word) * MIN_FREQUENCY_RATIO,
  );
  let best: { parts: string; documents: number } | undefined;
  for (let i = MIN_PART_LENGTH; i <= word.length - MIN_PART_LENGTH; i += 1) {
    const left = word.slice(0, i);
    const right = word.slice(i);
    const documents = Math.min(documentsWith(dictionary, left), documentsWith(dictionary, right));
    if (documents >= minDocuments && documents > (best?.documents ?? 0)) {
      best = { parts: `${left} ${right}`, documents };
    }
  }
  return best ? [best.parts] : [];
}

/**
 * Splits a run of a script written without spaces into words, separated by spaces. Returns an empty list for a single
 * word. Omits words that `queryWords` would ignore, so that the header `Answered-Query` has only words that are
 * searched.
 */
function segmentWord({ word }: QueryWord): string[] {
  const parts = segmentUnspaced(word);
  if (parts.length === 1) return [];
  const searched = queryWords(parts.join(' '));
  return [searched.map((part) => part.word).join(' ')];
}

/**
 * Returns the text of a word as typed, without a leading article. The parts of a word such as `wi-fi` stay separated by
 * a hyphen, so that they also match separately.
 */
export function typedText({ word, anyOf: [, parts] }: QueryWord): string {
  return parts ? parts.map(({ text }) => text).join('-') : word;
}
