import type { SearchResult } from '../../../generated/types.gen.ts';
import { fold } from '../../text/words/fold.ts';
import type { QueryWord } from '../../text/words/query.ts';
import { indexWords, isCorrectable } from '../../text/words/tokenize.ts';
import type { Budget } from '../budget.ts';
import { documentsWithPrefix } from '../dictionary/dictionary.ts';
import { findKeys, type KeySearch } from '../matching-keys.ts';
import { readRows } from '../rows.ts';

/** Maximum number of words of a query to compare with titles. Each takes about a millisecond. */
const MAX_WORDS = 2;

/**
 * Words with more edits are not compared: those of more than 21 Latin, 10 Cyrillic or 4 Hangul letters. This number takes
 * a few milliseconds.
 */
const MAX_EDITS = 1_100;

/** Maximum number of spaces with a similar word in the title to read. */
const MAX_SPACES = 10;

/** Maximum number of similar words per word. */
const MAX_SIMILAR = 3;

/** Unicode has the letters of an alphabet in blocks of this size. */
const BLOCK_SIZE = 128;

/**
 * Returns the words of titles that are one edit away from each word, those of the most popular spaces first. An edit of
 * the first letter must be a swap. Only for correctable words that occur in no space. Searches the word index, so it
 * also finds words that the dictionary lacks: a name that only one of a million spaces has.
 */
export async function findSimilarTitleWords(
  search: KeySearch,
  words: readonly QueryWord[],
  budget: Budget,
): Promise<string[][]> {
  const similar: string[][] = words.map(() => []);
  let compared = 0;
  for (const [i, { word }] of words.entries()) {
    if (compared === MAX_WORDS) break;
    const letters = alphabetOf(word);
    // An insertion or a replacement of each letter.
    if (2 * word.length * letters.length > MAX_EDITS || !isCorrectable(word)) continue;
    if (await isInSpaces(search, word, budget)) continue;
    similar[i] = await findSimilar(search, editsOf(word, letters), budget);
    compared += 1;
  }
  return similar;
}

/** Returns whether a space has a word with this prefix. Assumes so if the budget is spent. */
async function isInSpaces(search: KeySearch, prefix: string, budget: Budget): Promise<boolean> {
  if (documentsWithPrefix(search.dictionary, prefix) > 0) return true;
  const query = { pattern: { term: prefix, isPrefix: true }, scope: 'all' } as const;
  const found = await findKeys(search, query, { after: -1, limit: 1 }, budget);
  return found === undefined || found.keys.length > 0;
}

/** Returns those of the words that are in titles. */
async function findSimilar(
  search: KeySearch,
  edited: ReadonlySet<string>,
  budget: Budget,
): Promise<string[]> {
  const pattern = { anyOf: [...edited].map((term) => ({ term, isPrefix: false })) };
  const query = { pattern, scope: 'title' } as const;
  const found = await findKeys(search, query, { after: -1, limit: MAX_SPACES }, budget);
  if (found === undefined || found.keys.length === 0) return [];
  const rows = await readRows(search.resources, search.db, found.keys);
  const titles = found.keys.flatMap((key) => {
    const row = rows.get(key);
    return row ? [(JSON.parse(row.result) as SearchResult).title] : [];
  });
  const similar = titles.flatMap(indexWords).filter((each) => edited.has(each));
  return [...new Set(similar)].slice(0, MAX_SIMILAR);
}

/** Returns all words that are one edit away. */
function editsOf(word: string, letters: readonly string[]): Set<string> {
  const edits = new Set<string>();
  for (let i = 0; i < word.length; i += 1) {
    const before = word.slice(0, i);
    const letter = word.slice(i, i + 1);
    const after = word.slice(i + 1);
    edits.add(before + after.slice(0, 1) + letter + after.slice(1));
    for (const other of letters) edits.add(before + letter + other + after);
    if (i === 0) continue;
    edits.add(before + after);
    for (const other of letters) edits.add(before + other + after);
  }
  edits.delete(word);
  return edits;
}

/** Returns the letters in the block of the last letter of a folded word. */
function alphabetOf(word: string): string[] {
  const last = word.charCodeAt(word.length - 1);
  const start = last - (last % BLOCK_SIZE);
  const block = Array.from({ length: BLOCK_SIZE }, (_, i) => String.fromCharCode(start + i));
  return block.filter((letter) => /\p{L}/v.test(letter) && fold(letter) === letter);
}
