import type { SearchResult } from '../../../generated/types.gen.ts';
import type { WordPattern } from '../../database/word-index.ts';
import { fold } from '../../text/words/fold.ts';
import type { Budget } from '../budget.ts';
import { type Dictionary, documentsWith, hasManyMatches } from '../dictionary/dictionary.ts';
import { type Alternative, type Interpretation, interpret } from '../interpretation.ts';
import { findKeys, type KeySearch } from '../matching-keys.ts';
import { readRows } from '../rows.ts';
import { isStopWord } from './stop-words.ts';

const MIN_INITIALS = 3;
const MAX_INITIALS = 5;
const INITIALS = /^[\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}]{3,5}$/v;

/** The number of letters between the first and the last one: `i18n` for `internationalization`. */
const NUMBER_FORM = /^\p{L}\d{1,2}\p{L}$/v;

/** Shorter words are rarely abbreviated by a number. */
const MIN_LENGTH_FOR_NUMBER = 8;

/** A word of the word index in an alphabet, so that it is a term of the index. */
const WORD = /^[\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}]{2,30}$/v;

/** Maximum number of spaces to read for an abbreviation, the most popular ones. */
const MAX_SPACES = 50;

/** At least this many of the spaces that were read must have both an abbreviation and its meaning, and this share. */
const MIN_SPACES = 2;
const MIN_SHARE = 1 / 20;

/** Maximum number of abbreviations to look up for a query. Each takes about a millisecond. */
const MAX_LOOKUPS = 3;

/**
 * Returns an interpretation in which abbreviations and their meanings match each other: `ocr` and `optical character
 * recognition`, `i18n` and `internationalization`. They are learnt from spaces with both, so this knows no language and no
 * subject.
 * Returns undefined if there are none.
 */
export async function withInitials(
  search: KeySearch,
  words: readonly Alternative[],
  budget: Budget,
): Promise<Interpretation | undefined> {
  const texts = words.map(([[text = '']]) => fold(text));
  const alternatives = [...words];
  let lookups = 0;
  for (const [i, short] of texts.entries()) {
    if (lookups === MAX_LOOKUPS || !isAbbreviation(search.dictionary, short)) continue;
    lookups += 1;
    const meaning = await findMeaning(search, short, budget);
    const [all, forms] = words[i] as Alternative;
    if (meaning !== undefined) alternatives[i] = [[...all, meaning], forms];
  }
  for (const { from, group, short } of groupsOf(texts)) {
    if (lookups === MAX_LOOKUPS) break;
    if (isStopWord(short) || documentsWith(search.dictionary, short) === 0) continue;
    lookups += 1;
    if (!(await isAbbreviated(search, group, short, budget))) continue;
    const [all, forms] = words[from] as Alternative;
    const alternative: Alternative =
      group.length === 1 ? [all, [...forms, short]] : [[group.join(' ')], [short]];
    alternatives.splice(from, group.length, alternative);
    return interpret('initials', alternatives);
  }
  return alternatives.some((each, i) => each !== words[i])
    ? interpret('initials', alternatives)
    : undefined;
}

function isAbbreviation(dictionary: Dictionary, word: string): boolean {
  if (isStopWord(word) || hasManyMatches(dictionary, word)) return false;
  return INITIALS.test(word) || NUMBER_FORM.test(word);
}

/** Returns all adjacent words that can be abbreviated, the most words first. */
function groupsOf(texts: readonly string[]) {
  const groups: { from: number; group: string[]; short: string }[] = [];
  for (const length of [MAX_INITIALS, 4, MIN_INITIALS, 1]) {
    for (let from = 0; from + length <= texts.length; from += 1) {
      const group = texts.slice(from, from + length);
      const short = abbreviate(group);
      if (short !== '' && group.every((word) => WORD.test(word))) {
        groups.push({ from, group, short });
      }
    }
  }
  return groups;
}

/** Returns the initials of several words, or a single long word with a number for its inner letters. */
function abbreviate(words: readonly string[]): string {
  const [word = ''] = words;
  if (words.length > 1) return words.map((each) => each.slice(0, 1)).join('');
  if (word.length < MIN_LENGTH_FOR_NUMBER) return '';
  return `${word.slice(0, 1)}${word.length - 2}${word.slice(-1)}`;
}

/** Returns what most spaces with an abbreviation say that it means. */
async function findMeaning(
  search: KeySearch,
  short: string,
  budget: Budget,
): Promise<string | undefined> {
  const texts = await readTexts(search, wholeWord(short), budget);
  const counts = new Map<string, number>();
  for (const meaning of texts.flatMap((words) => [...new Set(meaningsIn(words, short))])) {
    counts.set(meaning, (counts.get(meaning) ?? 0) + 1);
  }
  const [best] = [...counts].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
  if (best === undefined) return undefined;
  const [meaning, count] = best;
  return count >= MIN_SPACES && count >= texts.length * MIN_SHARE ? meaning : undefined;
}

/** Whether enough spaces with words also have their abbreviation. */
async function isAbbreviated(
  search: KeySearch,
  group: readonly string[],
  short: string,
  budget: Budget,
): Promise<boolean> {
  const texts = await readTexts(search, { allOf: [short, ...group].map(wholeWord) }, budget);
  const meaning = group.join(' ');
  return texts.filter((words) => meaningsIn(words, short).includes(meaning)).length >= MIN_SPACES;
}

function wholeWord(term: string) {
  return { term, isPrefix: false };
}

/** Returns the adjacent words of a text that an abbreviation may stand for. */
function meaningsIn(words: readonly string[], short: string): string[] {
  if (NUMBER_FORM.test(short)) return words.filter((word) => abbreviate([word]) === short);
  return words.flatMap((first, i) => {
    if (!first.startsWith(short.slice(0, 1)) || isStopWord(first)) return [];
    const group = words.slice(i, i + short.length);
    const isMeaning =
      abbreviate(group) === short &&
      !isStopWord(group.at(-1) as string) &&
      group.every((word) => WORD.test(word) && word !== short);
    return isMeaning ? [group.join(' ')] : [];
  });
}

/** Returns the words of the most popular spaces that match, in the order of their texts. */
async function readTexts(
  search: KeySearch,
  pattern: WordPattern,
  budget: Budget,
): Promise<string[][]> {
  const range = { after: -1, limit: MAX_SPACES };
  const found = await findKeys(search, { pattern, scope: 'all' }, range, budget);
  if (found === undefined || found.keys.length === 0) return [];
  const rows = await readRows(search.resources, search.db, found.keys);
  return found.keys.flatMap((key) => {
    const row = rows.get(key);
    if (!row) return [];
    const { title, description } = JSON.parse(row.result) as SearchResult;
    return [fold(`${title}\n${description}`).match(/[\p{L}\p{N}]+/gv) ?? []];
  });
}
