import type { QueryWord } from '../text/words/query.ts';
import { type Budget, spendHalf } from './budget.ts';
import { type Alternative, type Interpretation, interpret, matcherOf } from './interpretation.ts';
import { interpretAsMeant, interpretAsTyped, requiredWords } from './interpretations.ts';
import { findKeys } from './matching-keys.ts';
import { ENOUGH_RESULTS, FIRST_RANK, MIN_WORDS_FOR_MORE_RESULTS, spacePkOf } from './order.ts';
import { readRows } from './rows.ts';
import { withBeginnings } from './rules/beginnings.ts';
import { estimateDocuments, withFewerWords } from './rules/fewer-words.ts';
import { findSimilarTitleWords } from './rules/title-words.ts';
import { type Hit, type RungRead, type RungSearch, readRung } from './rung.ts';

/**
 * The list of a query, as its first page decided it. It is the concatenation of the rungs of a ladder: the spaces that
 * match an interpretation of the query, without those of the rungs before.
 */
export interface List {
  /** The keys of the spaces of all rungs but the last one, which are fewer than `ENOUGH_RESULTS`. */
  head: readonly number[];
  last: Interpretation;
  /**
   * What users see: the first interpretation that added spaces, or may do so, and has other or fewer words than the typed
   * one; empty if none.
   */
  answeredQuery: string;
}

/** Is called for each rung that was tried, to explain a list. */
export type OnRung = (interpretation: Interpretation, read: RungRead) => void;

export interface ListSearch extends RungSearch {
  query: string;
  words: readonly QueryWord[];
  /** Whether the list has only spaces that match the query as typed. */
  isStrict: boolean;
}

/** Tries the rungs of a ladder until there are enough results. Returns the list and its first results. */
export async function climb(
  search: ListSearch,
  maxHits: number,
  budget: Budget,
  onRung?: OnRung,
): Promise<RungRead & { list: List }> {
  const { dictionary, query, words, isStrict } = search;
  const typed = interpretAsTyped(dictionary, query, words, isStrict);
  const typedWords = interpret('typed', typed.words).text;
  let list: List = { head: [], last: typed, answeredQuery: '' };
  let answered = '';
  let resumeAfter: number | null = null;
  const hits: Hit[] = [];
  // Whether another rung is tried must not depend on the page size.
  const count = Math.max(maxHits, ENOUGH_RESULTS);
  for await (const last of ladder(search, typed, budget, () => hits.length)) {
    const head = hits.map(({ key }) => key);
    const read = await spendHalf(budget, (half) =>
      readRung(search, last, FIRST_RANK, head.map(spacePkOf), count - head.length, half),
    );
    onRung?.(last, read);
    const isEmpty = read.hits.length === 0;
    // If the budget of a rung is spent before its first result, the next page continues with it, unless a later rung has
    // results. If nothing has, the query as typed has priority.
    const isTypedSpent = list.last === typed && resumeAfter !== null;
    if (isEmpty && (read.resumeAfter === null || isTypedSpent)) continue;
    const isOther = last !== typed && (last.text !== typedWords || last.missing > 0);
    list = { head, last, answeredQuery: answered || (isOther ? last.text : '') };
    resumeAfter = read.resumeAfter;
    if (isEmpty) continue;
    answered = list.answeredQuery;
    hits.push(...read.hits);
    if (hits.length >= ENOUGH_RESULTS || resumeAfter !== null) break;
  }
  const inHead = hits
    .slice(0, list.head.length)
    .map((hit, i) => ({ ...hit, rank: headRank(list, i) }));
  return { hits: [...inHead, ...hits.slice(inHead.length)], resumeAfter, list };
}

/**
 * Yields the rungs of a query in the order of the results: the query as typed, the query that was probably meant, with
 * words that begin alike, and queries with fewer words.
 * @param countHits returns the number of results of the rungs so far
 */
async function* ladder(
  search: ListSearch,
  typed: Interpretation,
  budget: Budget,
  countHits: () => number,
): AsyncGenerator<Interpretation> {
  yield typed;
  if (search.isStrict) return;
  const required = requiredWords(search.words, typed);
  const titleWords = await findSimilarTitleWords(search, required, budget);
  const meant = interpretAsMeant(search.dictionary, required, titleWords);
  const base = meant?.words ?? requiredWords(typed.words, typed);
  if (meant) yield meant;
  const before = countHits();
  const begun = withBeginnings(search.dictionary, base);
  if (begun) yield begun;
  // A single word as typed says about as much as others like it.
  const similar = countHits() - before;
  const minWords = () => (countHits() > similar ? MIN_WORDS_FOR_MORE_RESULTS : 1);
  // Shorter queries have no fewer words to try.
  if (base.length <= minWords()) return;
  const documents: number[] = [];
  for (const word of base) documents.push(await countDocuments(search, word, budget));
  for (const fewer of withFewerWords(base, documents)) {
    const required = fewer.words.length - fewer.missing;
    if (required < minWords()) return;
    yield fewer;
  }
}

/**
 * Estimates how many spaces match an alternative; 0 if there are none. If the dictionary has none of its texts, returns
 * 1 instead of the number.
 */
async function countDocuments(
  search: RungSearch,
  word: Alternative,
  budget: Budget,
): Promise<number> {
  const alone = interpret('one word', [word]);
  const { pattern, mustVerify } = matcherOf(alone);
  if (mustVerify) {
    // The index would also count spaces that have the bigrams of a run, but not the run.
    const { hits, resumeAfter } = await readRung(search, alone, FIRST_RANK, [], 1, budget);
    if (hits.length === 0 && resumeAfter === null) return 0;
  }
  const known = Math.max(...word.flat().map((text) => estimateDocuments(search.dictionary, text)));
  if (known > 0) return known;
  const query = { pattern, scope: 'all' } as const;
  const found = await findKeys(search, query, { after: -1, limit: 1 }, budget);
  return Number(found === undefined || found.keys.length > 0 || found.reached < Infinity);
}

/** Continues a list after a rank. */
export async function readList(
  search: RungSearch,
  list: List,
  after: number,
  maxHits: number,
  budget: Budget,
): Promise<RungRead> {
  const keys = list.head.filter((_, i) => headRank(list, i) > after);
  const rows = keys.length > 0 ? await readRows(search.resources, search.db, keys) : new Map();
  const first = list.head.flatMap((key, i): Hit[] => {
    const row = rows.get(key);
    return row && !search.isChanged(row)
      ? [{ key, rank: headRank(list, i), result: row.result }]
      : [];
  });
  const { hits, resumeAfter } = await spendHalf(budget, (half) =>
    readRung(
      search,
      list.last,
      Math.max(after, FIRST_RANK),
      list.head.map(spacePkOf),
      maxHits - first.length,
      half,
    ),
  );
  return { hits: [...first, ...hits], resumeAfter };
}

/** Returns the rank of a space in the head of a list. They precede those of the last rung. */
function headRank({ head }: List, i: number): number {
  return FIRST_RANK + 1 + i - head.length;
}
