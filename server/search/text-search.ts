import type { IndexMark } from '../database/engine.ts';
import type { Page, PageRequest } from '../pagination.ts';
import type { AvatarResources } from '../resources.ts';
import { queryWords } from '../text/words/query.ts';
import { newBudget } from './budget.ts';
import type { Dictionary } from './dictionary/dictionary.ts';
import { continueList, type List, type OnRung, startList } from './list.ts';
import type { SearchResultJson } from './results.ts';
import type { Hit, RungRead } from './rung.ts';
import { NOTHING_CHANGED, type SearchView } from './view.ts';

/**
 * Where a page begins: after a rank of a list. Includes everything that the first page decided from the dictionary, so
 * that later pages continue the same list even if the dictionary has changed.
 */
type TextPosition = readonly [firstMark: IndexMark, after: number, list: List];

export interface TextPage extends Page<SearchResultJson> {
  /** The query whose results follow those of the query as typed, in its most probable form; null if none. */
  answeredQuery: string | null;
}

export interface TextQuery {
  /** Any text. Words after the first 12 are ignored. */
  query: string;
  /** Whether to return only spaces that match the query as typed. */
  asTyped: boolean;
}

/**
 * Returns a page of the public spaces that a query matches by title and description, in the order of `list.ts`. A page
 * has fewer than `limit` items, and yet a next page, if its budget is spent.
 * @param onRung is called for each rung that the first page tries
 */
export async function searchText(
  resources: AvatarResources,
  dictionary: Dictionary,
  { query, asTyped }: TextQuery,
  { limit, position }: PageRequest,
  { db, mark, changesSince }: SearchView,
  onRung?: OnRung,
): Promise<TextPage> {
  const words = queryWords(query);
  if (words.length === 0) return { items: [], next: null, answeredQuery: null };
  const shared = { resources, db, dictionary, query, words, isStrict: asTyped };
  const maxHits = limit + 1;
  if (position === undefined) {
    const search = { ...shared, isChanged: NOTHING_CHANGED };
    const { list, ...read } = await startList(search, maxHits, newBudget(), onRung);
    return toPage(mark, list, read, limit);
  }
  const [firstMark, after, list] = position as TextPosition;
  const search = { ...shared, isChanged: await changesSince(firstMark) };
  const read = await continueList(search, list, after, maxHits, newBudget());
  return toPage(firstMark, list, read, limit);
}

function toPage(
  firstMark: IndexMark,
  list: List,
  { hits, resumeAfter }: RungRead,
  limit: number,
): TextPage {
  const after = hits.length > limit ? (hits[limit - 1] as Hit).rank : resumeAfter;
  const next: TextPosition | null = after === null ? null : [firstMark, after, list];
  return {
    items: hits.slice(0, limit).map(({ result }) => result),
    next,
    answeredQuery: list.answeredQuery === '' ? null : list.answeredQuery,
  };
}
