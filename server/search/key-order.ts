import type { IndexMark } from '../database/engine.ts';
import { type Page, type PageRequest, pageOf } from '../pagination.ts';
import type { SearchResultJson } from './results.ts';
import { NOTHING_CHANGED, type SearchView } from './view.ts';

/**
 * Number of spaces that a later page reads. Those that changed since the first page are omitted, so the page can end
 * early.
 */
const MAX_CANDIDATES = 500;

type KeyPosition = readonly [lastKey: number, firstMark: IndexMark];

/** A search result, with the columns that decide whether it belongs to a page. */
export interface KeyedRow {
  key: number;
  /** See `PublicSpaces.revision`. */
  revision: number;
  result: SearchResultJson;
}

/**
 * Returns a page of public spaces in the order of their keys. It can have fewer than `limit` items and yet a next page.
 * @param readRows returns the first spaces with a key greater than `after`
 */
export async function readInKeyOrder(
  view: SearchView,
  { limit, position }: PageRequest,
  readRows: (after: number, candidates: number) => Promise<KeyedRow[]>,
): Promise<Page<SearchResultJson>> {
  const [after, firstMark] = (position as KeyPosition | undefined) ?? [-1, view.mark];
  const isChanged = position ? await view.changesSince(firstMark) : NOTHING_CHANGED;
  const candidates = position ? MAX_CANDIDATES : limit + 1;
  const rows = await readRows(after, candidates);
  const unchanged = rows.filter((row) => !isChanged(row)).slice(0, limit + 1);
  const page = pageOf(unchanged, limit, ({ key }) => [key, firstMark]);
  const last = rows.at(-1);
  const isTruncated = page.next === null && rows.length === candidates && last;
  return {
    items: page.items.map(({ result }) => result),
    next: isTruncated ? [last.key, firstMark] : page.next,
  };
}
