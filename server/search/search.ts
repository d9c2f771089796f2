import type { PageRequest } from '../pagination.ts';
import type { AvatarResources } from '../resources.ts';
import { listAllSpaces, type SpaceOrder } from './all-spaces.ts';
import type { Dictionary } from './dictionary/dictionary.ts';
import { joinResults } from './results.ts';
import { getCachedResponse, type SearchResponse, type SearchState } from './search-state.ts';
import { searchTag } from './tag-search.ts';
import { searchText, type TextPage, type TextQuery } from './text-search.ts';
import type { SearchView } from './view.ts';

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
  return searchWithCache(context, 'text', query, page, (view, dictionary) =>
    searchText(context, dictionary, query, page, view),
  );
}

/** Returns a page of the public spaces that have a tag. */
export function searchByTag(
  context: SearchContext,
  tag: string,
  page: PageRequest,
): Promise<SearchResponse> {
  return searchWithCache(context, 'tag', tag, page, async (view) => ({
    ...(await searchTag(context, tag, page, view)),
    answeredQuery: null,
  }));
}

/** Returns a page of all public spaces. */
export function listSpaces(
  context: SearchContext,
  order: SpaceOrder,
  page: PageRequest,
): Promise<SearchResponse> {
  return searchWithCache(context, 'all', order, page, async (view) => ({
    ...(await listAllSpaces(context, order, page, view)),
    answeredQuery: null,
  }));
}

function searchWithCache(
  { engine, search: state, metrics }: SearchContext,
  kind: SearchKind,
  query: TextQuery | string,
  page: PageRequest,
  search: (view: SearchView, dictionary: Dictionary) => Promise<TextPage>,
): Promise<SearchResponse> {
  const key = JSON.stringify([kind, query, page.limit, page.position]);
  return metrics.timeSearch(kind, () =>
    getCachedResponse(engine, state, key, async (view, dictionary) => {
      const { items, ...rest } = await search(view, dictionary);
      return { ...joinResults(items), ...rest };
    }),
  );
}
