import type { QueryWord } from '../text/words/query.ts';
import { isCorrectable, runParts } from '../text/words/tokenize.ts';
import { type Dictionary, documentsWith, documentsWithPrefix } from './dictionary/dictionary.ts';
import { similarWords } from './dictionary/similar-words.ts';
import { inflectionsOf } from './inflections.ts';
import type { Alternative, Alternatives } from './matcher.ts';
import { isStopWord } from './stop-words.ts';

/** Words of eight letters and more may be two edits from what was meant, shorter ones one. */
const MIN_LENGTH_FOR_TWO_EDITS = 8;

/** A word is taken for a misspelling of another one that this many times as many spaces have. */
const MIN_RATIO = 20;

/** Among corrections at the same distance, one in fewer spaces than this share of the most frequent one is ignored. */
const MIN_SHARE_OF_BEST = 0.1;

const MAX_CORRECTIONS = 3;

/** Bounds the cost of correcting a query: about 0.1 ms for 500 nodes. The rarest words are corrected first. */
const MAX_DICTIONARY_NODES = 30_000;

/** Both parts of a split word have at least this many letters. */
const MIN_PART_LENGTH = 2;

/** Pairs of neighbours that are also looked for as one word. */
const MAX_JOINS = 2;

/** A shorter joined word is the prefix of too many others. */
const MIN_JOINED_LENGTH = 4;

/** The index of the first word of each pair that is a known word when it is joined, the most frequent pairs only. */
export function findJoins(dictionary: Dictionary, words: readonly QueryWord[]): number[] {
  return words
    .slice(0, -1)
    .map((word, i) => ({
      i,
      joined: word.word + words[i + 1]?.word,
      isSpaced: !word.isRun && !words[i + 1]?.isRun,
    }))
    .filter(({ joined, isSpaced }) => isSpaced && joined.length >= MIN_JOINED_LENGTH)
    .map(({ i, joined }) => ({ i, documents: documentsWithPrefix(dictionary, joined) }))
    .filter(({ documents }) => documents > 0)
    .sort((a, b) => b.documents - a.documents || a.i - b.i)
    .slice(0, MAX_JOINS)
    .map(({ i }) => i)
    .sort((a, b) => a - b);
}

/** Returns the other forms of each word. Stop words have none: `is` is not meant by `are`. */
export function findInflections(dictionary: Dictionary, words: readonly QueryWord[]): string[][] {
  return words.map(({ word }) => (isStopWord(word) ? [] : inflectionsOf(dictionary, word)));
}

/**
 * Returns what the query probably meant, for each of its words in order; undefined if that is the query as typed.
 * Stop words are left out. A word may be replaced by corrections of a probable misspelling, by its two parts, and by
 * its other forms, and a text without spaces by its words. The typed word stays an alternative, and the most probable
 * alternative comes first.
 */
export function findOtherQuery(
  dictionary: Dictionary,
  words: readonly QueryWord[],
): Alternatives | undefined {
  const meaningful = words.filter(({ word }) => !isStopWord(word));
  const kept = meaningful.length > 0 ? meaningful : words;
  const corrections = correctWords(dictionary, kept);
  const replacements = kept.map((word, i) =>
    word.isRun
      ? runAlternatives(word)
      : [...(corrections.get(i) ?? []), ...splitWord(dictionary, word)],
  );
  const isOther = kept.length < words.length || replacements.some(({ length }) => length > 0);
  if (!isOther) return undefined;
  return kept.map((word, i) => [
    [...new Set([...(replacements[i] as string[]), asTyped(word)])],
    inflectionsOf(dictionary, word.word),
  ]);
}

/**
 * Returns shorter and shorter queries for a query that finds nothing. Words that nobody has written go first, then the
 * most frequent ones, which say least about what is looked for.
 * @param documents about how many spaces match each word alone; 0 for none
 */
export function dropWords(
  alternatives: Alternatives,
  documents: readonly number[],
): Alternatives[] {
  const frequency = (i: number) => documents[i] ?? 0;
  const rarestFirst = [...alternatives.keys()]
    .filter((i) => frequency(i) > 0)
    .sort((a, b) => frequency(a) - frequency(b) || a - b);
  return shorterLengths(alternatives.length, rarestFirst.length).map((length) =>
    rarestFirst
      .slice(0, length)
      .sort((a, b) => a - b)
      .map((i) => alternatives[i] as Alternative),
  );
}

/** One or two words less, half of them, two and one: few attempts, whatever the length of the query. */
function shorterLengths(words: number, known: number): number[] {
  const lengths = [known, words - 1, words - 2, Math.ceil(words / 2), 2, 1];
  return [...new Set(lengths)]
    .filter((length) => length > 0 && length < words && length <= known)
    .sort((a, b) => b - a);
}

/** Returns about how many spaces match a text, going by its rarest word. */
export function documentsOf(dictionary: Dictionary, text: string): number {
  return Math.min(...text.split(' ').map((word) => documentsWithPrefix(dictionary, word)));
}

/** Corrections by the index of the word. */
function correctWords(dictionary: Dictionary, words: readonly QueryWord[]): Map<number, string[]> {
  let nodes = MAX_DICTIONARY_NODES;
  const corrections = new Map<number, string[]>();
  const byRarity = words
    .map(({ word }, i) => ({ word, i, documents: documentsWithPrefix(dictionary, word) }))
    .filter(({ word }) => isCorrectable(word))
    .sort((a, b) => a.documents - b.documents);
  for (const { word, i, documents } of byRarity) {
    const maxDistance = word.length >= MIN_LENGTH_FOR_TWO_EDITS ? 2 : 1;
    const { found, visited } = similarWords(dictionary.trie, word, maxDistance, nodes);
    nodes -= visited;
    const [best, ...others] = found
      .filter(({ distance, total }) => distance > 0 && total >= documents * MIN_RATIO)
      .sort((a, b) => a.distance - b.distance || b.total - a.total || (a.word < b.word ? -1 : 1));
    if (!best) continue;
    const equals = others.filter(
      ({ distance, total }) =>
        distance === best.distance && total >= best.total * MIN_SHARE_OF_BEST,
    );
    // A single word has no neighbours that would tell which of several corrections is meant.
    const count = words.length === 1 ? 1 : MAX_CORRECTIONS;
    corrections.set(
      i,
      [best, ...equals].slice(0, count).map((each) => each.word),
    );
  }
  return corrections;
}

/** The word as two known words, whichever pair has the most frequent rarer half; empty if there is none. */
function splitWord(dictionary: Dictionary, { word, anyOf }: QueryWord): string[] {
  // A word that was typed in parts is looked for in parts anyway.
  if (anyOf.length > 1) return [];
  const minDocuments = Math.max(
    dictionary.minDocuments,
    documentsWithPrefix(dictionary, word) * MIN_RATIO,
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

function runAlternatives({ word }: QueryWord): string[] {
  const parts = runParts(word);
  return parts.length > 1 ? [parts.join(' ')] : [];
}

/** A text that is parsed as the same word: the parts of a joined word may stand apart. */
function asTyped({ word, anyOf: [, parts] }: QueryWord): string {
  return parts ? parts.map(({ text }) => text).join('-') : word;
}
