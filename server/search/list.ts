import { type Budget, spendHalf } from './budget.ts';
import { type Interpretation, interpret } from './interpretation.ts';
import { type LadderSearch, ladder } from './ladder.ts';
import { ENOUGH_RESULTS, FIRST_RANK, spacePkOf } from './order.ts';
import { readRows } from './rows.ts';
import { interpretAsTyped } from './rules/as-typed.ts';
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

export interface ListSearch extends LadderSearch {
  query: string;
}

/** Tries the rungs of a ladder until there are enough results. Returns the list and its first results. */
export async function startList(
  search: ListSearch,
  maxHits: number,
  budget: Budget,
  onRung?: OnRung,
): Promise<RungRead & { list: List }> {
  const { dictionary, query, words, isStrict } = search;
  const typed = interpretAsTyped(dictionary, query, words, isStrict);
  const typedWords = interpret(typed.words).text;
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

/** Continues a list after a rank. */
export async function continueList(
  search: RungSearch,
  list: List,
  after: number,
  maxHits: number,
  budget: Budget,
): Promise<RungRead> {
  const keys = list.head.filter((_, i) => headRank(list, i) > after);
  const rows = await readRows(search.resources, search.db, keys);
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
