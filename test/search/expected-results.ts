import { type Dictionary, documentsWithPrefix } from '../../server/search/dictionary/dictionary.ts';
import { documentKey, KEYS_PER_STEP } from '../../server/search/order.ts';
import { isStopWord } from '../../server/search/rules/stop-words.ts';
import { matches, type QueryWord, queryWords, SplitText } from '../../server/text/words/query.ts';
import { titleKey } from '../../server/text/words/tokenize.ts';
import type { IndexedSpace } from './generated-index.ts';

export interface Expected {
  /** The ids of the spaces that match the query as typed. */
  typed: string[];
  /** The ids of the other results, which follow. */
  other: string[];
  answeredQuery: string | null;
}

/**
 * What the rules for single words find in the dictionaries of these tests. This file does not check these rules: their
 * own tests do.
 */
const OTHER_FORMS: Record<string, string[]> = { breads: ['bread'], ovens: ['oven'] };
const CORRECTIONS: Record<string, string[]> = {
  sourduogh: ['sourdough'],
  floour: ['flour'],
  breads: ['bread'],
  ovens: ['oven'],
};

/** The alternatives for one word. */
interface Slot {
  texts: string[];
  forms: string[];
}

/**
 * Returns the results of a search by the rules in docs/search.md, without an index: it reads every space. It shares
 * only the splitting of texts into words, the list of stop words and the keys of spaces with the search.
 */
export function expectedResults(
  spaces: readonly IndexedSpace[],
  dictionary: Dictionary,
  query: string,
  asTyped: boolean,
): Expected {
  const words = queryWords(query);
  if (words.length === 0) return { typed: [], other: [], answeredQuery: null };
  const ignored = asTyped ? [] : ignoredWords(spaces, words);
  const formsOf = ({ word }: QueryWord) => (asTyped ? [] : (OTHER_FORMS[word] ?? []));
  const asSlot = (word: QueryWord): Slot => ({ texts: [word.typed], forms: formsOf(word) });

  const kept = words.filter((word) => !ignored.includes(word));
  const titles = [query, joined(words), joined(kept, ' ')];
  const slots = kept.map(asSlot);
  const shorter = asTyped ? [] : shorterNames(spaces, words);
  const typedRung = inOrder(spaces, titles, atLeast(slots.length, slots), shorter);
  const expected: Expected = { typed: typedRung, other: [], answeredQuery: null };
  if (asTyped || typedRung.length >= 10) return expected;

  const meaningful = kept.filter(({ word }) => !isStopWord(word));
  const meantWords = meaningful.length > 0 ? meaningful : kept;
  const unknown = kept.filter((word) => isUnknown(spaces, word)).slice(0, 2);
  const similar = new Map(unknown.map((word) => [word, similarTitleWords(spaces, word)]));
  const meant = meantWords.map((word): Slot => {
    const replacements = word.isUnspaced
      ? segments(word.word)
      : [...(CORRECTIONS[word.word] ?? []), ...(similar.get(word) ?? [])];
    return { texts: [...new Set([...replacements, word.typed])], forms: formsOf(word) };
  });
  const isOther = meant.length < kept.length || meant.some(({ texts }) => texts.length > 1);
  const base = isOther ? meant : slots;

  const typedWords = words.map(({ typed }) => typed).join(' ');
  /** Adds the spaces with a number of the words, after those that have been found. */
  const add = (slots: Slot[], minWords: number) => {
    const text = slots.map(({ texts: [first] }) => first).join(' ');
    const whole = slots.map(({ texts: [first = ''] }) => titleKey(first)).join('');
    const found = inOrder(spaces, [text, whole], atLeast(minWords, slots));
    const before = [...expected.typed, ...expected.other];
    const added = found.filter((id) => !before.includes(id));
    const isAsTyped = minWords === slots.length && text === typedWords;
    if (added.length > 0 && !isAsTyped) expected.answeredQuery ??= text;
    expected.other.push(...added);
  };
  const countFound = () => expected.typed.length + expected.other.length;
  if (isOther && countFound() < 10) add(meant, meant.length);
  const before = countFound();
  const begun = base.map(({ texts, forms }): Slot => {
    const beginnings = texts
      .filter((text) => /^[a-z]{6,}$/.test(text))
      .map((text) => text.slice(0, -2));
    const isRare = (beginning: string) => documentsWithPrefix(dictionary, beginning) <= 1_000;
    return { texts: [...texts, ...beginnings.filter(isRare)], forms };
  });
  if (countFound() < 10) add(begun, begun.length);
  const byBeginnings = countFound() - before;

  const rarestFirst = base
    .map((slot, i) => {
      const has = hasSlot(slot, i === base.length - 1);
      const isFound = spaces.some((space) => has(split(space).all));
      return { slot, documents: isFound ? Math.max(1, estimate(dictionary, slot)) : 0 };
    })
    .filter(({ documents }) => documents > 0)
    .sort((a, b) => a.documents - b.documents)
    .map(({ slot }) => slot);
  const inQueryOrder = (slots: Slot[]) => base.filter((slot) => slots.includes(slot));
  const rarestFour = inQueryOrder(rarestFirst.slice(0, 4));
  for (let count = Math.min(rarestFour.length, base.length - 1); count >= 1; count -= 1) {
    const found = countFound();
    if (found >= 10 || (count === 1 && found > byBeginnings)) break;
    if (count === 1) add(rarestFirst.slice(0, 1), 1);
    else add(rarestFour, count);
  }
  return expected;
}

/** Frequent stop words are ignored if two other words remain, but never the last word. */
function ignoredWords(spaces: readonly IndexedSpace[], words: readonly QueryWord[]): QueryWord[] {
  const ignored = words
    .slice(0, -1)
    .filter(({ word }) => isStopWord(word) && isFrequent(spaces, word));
  return words.length - ignored.length >= 2 ? ignored : [];
}

/** Whether at least 2% of the spaces have a word, and at least a minimum. */
function isFrequent(spaces: readonly IndexedSpace[], word: string, minSpaces = 1): boolean {
  const has = (space: IndexedSpace) => split(space).all.indexed.includes(word);
  return spaces.filter(has).length >= Math.max(minSpaces, spaces.length / 50);
}

/** Returns the longest three texts that remain of a query, or of a single word, without frequent ends. */
function shorterNames(spaces: readonly IndexedSpace[], queried: readonly QueryWord[]): string[] {
  const words = queried.map(({ word }) => word);
  const frequent = words.filter((word) => isFrequent(spaces, word, 100));
  const rests = words
    .flatMap((_, i) => words.map((_, j) => ({ rest: words.slice(i, words.length - j), i })))
    .filter(({ rest, i }) => {
      const ends = [...words.slice(0, i), ...words.slice(i + rest.length)];
      return rest.length > 0 && ends.length > 0 && ends.every((end) => frequent.includes(end));
    })
    .sort((a, b) => b.rest.length - a.rest.length || a.i - b.i)
    .map(({ rest }) => rest.join(' '));
  const [single = ''] = words.length === 1 ? words : [];
  const parts = [...single].flatMap((_, i) => {
    const [left, right] = [single.slice(0, i), single.slice(i)];
    if (left.length < 2 || right.length < 2) return [];
    return [
      ...(isFrequent(spaces, right, 100) ? [left] : []),
      ...(isFrequent(spaces, left, 100) ? [right] : []),
    ];
  });
  return [...new Set([...rests, ...parts])].slice(0, 3);
}

/** Whether a word of at least four letters is in no space. */
function isUnknown(spaces: readonly IndexedSpace[], { word }: QueryWord): boolean {
  const has = (space: IndexedSpace) =>
    split(space).all.indexed.some((indexed) => indexed.startsWith(word));
  return /^[a-z]{4,}$/.test(word) && !spaces.some(has);
}

/** Returns three words that are one edit away, from the titles of the ten most popular spaces that have such words. */
function similarTitleWords(spaces: readonly IndexedSpace[], { word }: QueryWord): string[] {
  const found = spaces
    .toSorted((a, b) => documentKey(a.pk, a.participants) - documentKey(b.pk, b.participants))
    .map((space) => split(space).title.indexed.filter((indexed) => isOneEdit(indexed, word)))
    .filter((words) => words.length > 0)
    .slice(0, 10);
  return [...new Set(found.flat())].slice(0, 3);
}

/** Whether two words differ by one letter, except the first one, or by a swap of two adjacent letters. */
function isOneEdit(a: string, b: string): boolean {
  if (a.length < b.length) return isOneEdit(b, a);
  return [...a].some((letter, i) => {
    const before = a.slice(0, i);
    const after = a.slice(i + 1);
    const isSwap = before + after.slice(0, 1) + letter + after.slice(1) === b;
    const isOther = a.length === b.length && b.startsWith(before) && b.endsWith(after);
    return a !== b && (isSwap || (i > 0 && (isOther || before + after === b)));
  });
}

function joined(words: readonly QueryWord[], separator = ''): string {
  return words.map(({ word }) => word).join(separator);
}

function segments(run: string): string[] {
  const segmenter = new Intl.Segmenter('en', { granularity: 'word' });
  const parts = Array.from(segmenter.segment(run), ({ segment }) => segment);
  return parts.length > 1 ? [[...new Set(parts)].join(' ')] : [];
}

type Condition = (text: SplitText) => boolean;

/** Matches texts with at least this many of the slots. */
function atLeast(minWords: number, slots: readonly Slot[]): Condition {
  const conditions = slots.map((slot, i) => hasSlot(slot, i === slots.length - 1));
  return (text) => conditions.filter((has) => has(text)).length >= minWords;
}

function hasSlot({ texts, forms }: Slot, isLast: boolean): Condition {
  const queries = texts.map((text) => queryWords(text, { hasMoreWords: !isLast }));
  return (text) =>
    queries.some((words) => matches(words, text)) ||
    forms.some((form) => text.indexed.includes(form));
}

interface SplitSpace {
  title: SplitText;
  titleKey: string;
  all: SplitText;
}

/** Splitting texts takes most of the time of these tests. */
const splitSpaces = new WeakMap<IndexedSpace, SplitSpace>();

function split(space: IndexedSpace): SplitSpace {
  const { title, description } = space;
  const known = splitSpaces.get(space) ?? {
    title: new SplitText(title),
    titleKey: titleKey(title),
    all: new SplitText(`${title}\n${description}`),
  };
  splitSpaces.set(space, known);
  return known;
}

/** Estimates how many spaces have a word, by the most frequent of its alternatives. */
function estimate(dictionary: Dictionary, { texts, forms }: Slot): number {
  const known = [...texts, ...forms].map((text) =>
    Math.min(
      ...queryWords(text).flatMap(({ word, isUnspaced, anyOf: [terms = []] }) =>
        (isUnspaced ? terms.map((term) => term.text) : [word]).map((each) =>
          documentsWithPrefix(dictionary, each),
        ),
      ),
    ),
  );
  return Math.max(...known);
}

/**
 * Returns the ids of matching spaces: those with one of the titles first, then by popularity step, then newest first. A
 * match in the title counts as six steps, and so does a title that equals a name.
 */
function inOrder(
  spaces: readonly IndexedSpace[],
  titles: readonly string[],
  isMatch: Condition,
  names: readonly string[] = [],
): string[] {
  const titleKeys = titles.map(titleKey);
  const nameKeys = names.map(titleKey);
  return spaces
    .map((space) => {
      const { title, titleKey: key, all } = split(space);
      const isExact = titleKeys.includes(key);
      const isTitleMatch = !isExact && (isMatch(title) || nameKeys.includes(key));
      const isHit = isExact || isTitleMatch || isMatch(all);
      const rank =
        documentKey(space.pk, space.participants) - (isTitleMatch ? 6 * KEYS_PER_STEP : 0);
      return { id: String(space.pk), isHit, isExact, rank };
    })
    .filter(({ isHit }) => isHit)
    .sort((a, b) => Number(b.isExact) - Number(a.isExact) || a.rank - b.rank)
    .map(({ id }) => id);
}
