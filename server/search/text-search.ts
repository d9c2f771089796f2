import type { IndexMark } from '../database/engine.ts';
import type { Page, PageRequest } from '../pagination.ts';
import type { AvatarResources } from '../resources.ts';
import { queryWords } from '../text/words/query.ts';
import { newBudget } from './budget.ts';
import type { Dictionary } from './dictionary/dictionary.ts';
import type { Interpretation } from './interpretation.ts';
import { climb, type List, type OnRung, readList } from './ladder.ts';
import type { SearchResultJson } from './results.ts';
import type { Hit, RungRead } from './rung.ts';
import { NOTHING_CHANGED, type SearchView } from './view.ts';

/**
 * Where a page begins: after a rank of a list. Includes everything that the first page decided from the dictionary, so
 * that later pages continue the same list even if the dictionary has changed.
 */
type TextPosition = readonly [
  firstMark: IndexMark,
  after: number,
  head: List['head'],
  answeredQuery: string,
  name: string,
  text: string,
  words: Interpretation['words'],
  names: Interpretation['names'],
  joins: Interpretation['joins'],
  optional: Interpretation['optional'],
  missing: number,
];

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
 * Returns a page of the public spaces that a query matches by title and description, in the order of `ladder.ts`. A page
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
    const { list, ...read } = await climb(search, maxHits, newBudget(), onRung);
    return toPage(mark, list, read, limit);
  }
  const [firstMark, after, head, answeredQuery, ...rest] = position as TextPosition;
  const [name, text, alternatives, names, joins, optional, missing] = rest;
  const last = { name, text, words: alternatives, names, joins, optional, missing };
  const list = { head, last, answeredQuery };
  const search = { ...shared, isChanged: await changesSince(firstMark) };
  const read = await readList(search, list, after, maxHits, newBudget());
  return toPage(firstMark, list, read, limit);
}

function toPage(
  firstMark: IndexMark,
  { head, last, answeredQuery }: List,
  { hits, resumeAfter }: RungRead,
  limit: number,
): TextPage {
  const { name, text, words, names, joins, optional, missing } = last;
  const after = hits.length > limit ? (hits[limit - 1] as Hit).rank : resumeAfter;
  const interpretation = [name, text, words, names, joins, optional, missing] as const;
  const next: TextPosition | null =
    after === null ? null : [firstMark, after, head, answeredQuery, ...interpretation];
  return {
    items: hits.slice(0, limit).map(({ result }) => result),
    next,
    answeredQuery: answeredQuery === '' ? null : answeredQuery,
  };
}
