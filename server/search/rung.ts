import type { SearchResult } from '../../generated/types.gen.ts';
import type { IsChanged } from '../database/engine.ts';
import { nextTurn } from '../system/event-loop.ts';
import { SERVER } from '../system/senders.ts';
import { SplitText } from '../text/words/query.ts';
import { type Budget, rejectRow, skipMissingRow } from './budget.ts';
import { type Condition, conditionOf } from './condition.ts';
import type { Interpretation } from './interpretation.ts';
import type { KeySearch } from './matching-keys.ts';
import { spacePkOf } from './order.ts';
import { type MatchKind, Ranking } from './ranking.ts';
import type { SearchResultJson } from './results.ts';
import { type FoundRow, readRows } from './rows.ts';

/** What all rungs of a list share. */
export interface RungSearch extends KeySearch {
  /** Whether the list omits a space, because it has changed since the first page was read. */
  isChanged: IsChanged;
}

export interface Hit {
  key: number;
  rank: number;
  result: SearchResultJson;
}

export interface RungRead {
  /** By ascending rank. */
  hits: Hit[];
  /** The rank after which to continue if the budget is spent; null otherwise. */
  resumeAfter: number | null;
}

/** Reads the spaces that match an interpretation and have ranks greater than `after`, except `omitted` ones. */
export async function readRung(
  search: RungSearch,
  interpretation: Interpretation,
  after: number,
  omitted: Iterable<number>,
  maxHits: number,
  budget: Budget,
): Promise<RungRead> {
  const condition = conditionOf(interpretation);
  const ranking = new Ranking(search, condition, after, budget);
  // If a space moves up meanwhile, the word index can return it again.
  const omittedSpaces = new Set(omitted);
  const isOmitted = (key: number) => omittedSpaces.has(spacePkOf(key));
  const hits: Hit[] = [];
  let rejected = 0;
  while (hits.length < maxHits) {
    // After rejections, reads more than are missing, because a statement costs about the same with more rows.
    const candidates = await ranking.next(maxHits - hits.length, rejected);
    if (!candidates) return { hits, resumeAfter: ranking.reached };
    if (candidates.length === 0) break;
    const keys = candidates.map(({ key }) => key).filter((key) => !isOmitted(key));
    const rows = await readRows(search.resources, search.db, keys);
    for (const { key, rank, kind } of candidates) {
      if (hits.length === maxHits) break;
      if (isOmitted(key)) continue;
      const row = rows.get(key);
      if (row && isHit(search, condition, kind, row, budget)) {
        omittedSpaces.add(spacePkOf(key));
        hits.push({ key, rank, result: row.result });
        continue;
      }
      rejected += 1;
      if (!row) skipMissingRow(budget);
      if (budget.rejectedRows <= 0) return { hits, resumeAfter: rank };
    }
    // Verifying the texts of all rejected rows takes several milliseconds.
    if (condition.matcher.mustVerify) await nextTurn(SERVER);
  }
  return { hits, resumeAfter: null };
}

/** Whether a candidate is a match of its kind, which the index cannot always decide. Spends the budget if it is not. */
function isHit(
  { isChanged }: RungSearch,
  { titleKeys, nameKeys, matcher }: Condition,
  kind: MatchKind,
  row: FoundRow,
  budget: Budget,
): boolean {
  const hasEqualTitle = [...titleKeys, ...nameKeys].includes(row.title_key);
  if (isChanged(row) || (hasEqualTitle && kind !== 'equal title')) {
    rejectRow(budget, 0);
    return false;
  }
  if (kind === 'equal title' || !matcher.mustVerify) return true;
  const { title, description } = JSON.parse(row.result) as SearchResult;
  const isTitleMatch = matcher.matches(new SplitText(title));
  const isMatch =
    kind === 'title'
      ? isTitleMatch
      : !isTitleMatch && matcher.matches(new SplitText(`${title}\n${description}`));
  if (!isMatch) rejectRow(budget, title.length + description.length);
  return isMatch;
}
