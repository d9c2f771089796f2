import type { Database } from '../database/engine.ts';
import type { PageRequest } from '../pagination.ts';
import type { AvatarResources } from '../resources.ts';
import { listAllSpaces, type SpaceOrder } from './all-spaces.ts';
import type { Dictionary } from './dictionary/dictionary.ts';
import { getCachedResponse, type SearchResponse, type SearchState } from './search-state.ts';
import { searchTag } from './tag-search.ts';
import { searchText, type TextPage, type TextQuery } from './text-search.ts';

export type SearchKind = 'text' | 'tag' | 'all';

export interface SearchContext extends AvatarResources {
  search: SearchState;
  metrics: {
    timeSearch<T>(kind: SearchKind, search: () => Promise<T>): Promise<T>;
  };
}

/** Returns a page of the public spaces that match a text. */
export function searchByText(
  context: SearchContext,
  query: TextQuery,
  page: PageRequest,
): Promise<SearchResponse> {
  return searchWithCache(context, 'text', query, page, (revision, dictionary, db) =>
    searchText(context, dictionary, query, revision, page, db),
  );
}

/** Returns a page of the public spaces that have a tag. */
export function searchByTag(
  context: SearchContext,
  tag: string,
  page: PageRequest,
): Promise<SearchResponse> {
  return searchWithCache(context, 'tag', tag, page, async (revision, _dictionary, db) => ({
    ...(await searchTag(context, tag, revision, page, db)),
    answeredQuery: null,
  }));
}

/** Returns a page of all public spaces. */
export function listSpaces(
  context: SearchContext,
  order: SpaceOrder,
  page: PageRequest,
): Promise<SearchResponse> {
  return searchWithCache(context, 'all', order, page, async (revision, _dictionary, db) => ({
    ...(await listAllSpaces(context, order, revision, page, db)),
    answeredQuery: null,
  }));
}

function searchWithCache(
  { engine, search: state, metrics }: SearchContext,
  kind: SearchKind,
  query: TextQuery | string,
  page: PageRequest,
  search: (revision: number, dictionary: Dictionary, db: Database) => Promise<TextPage>,
): Promise<SearchResponse> {
  const key = JSON.stringify([kind, query, page.limit, page.position]);
  return metrics.timeSearch(kind, () =>
    getCachedResponse(engine, state, key, async (revision, dictionary) => {
      // Only searches read from the replica, because the revision proves that their results are current.
      const { items, ...rest } = await engine.readOnReplica(revision, (db) =>
        search(revision, dictionary, db),
      );
      return { body: toUnpooledBuffer(`[${items.join(',')}]`), ...rest };
    }),
  );
}

/** Slices of Node.js' buffer pool would keep all 64 KiB of the pool in memory for as long as one of them is cached. */
function toUnpooledBuffer(text: string): Buffer {
  const buffer = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  buffer.write(text);
  return buffer;
}
