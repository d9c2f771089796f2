import type { Page, PageRequest } from '../pagination.ts';
import type { Stores } from '../stores.ts';
import { type RecentResponses, recallResponse, type SearchResponse } from './recent-responses.ts';
import type { SearchResultJson } from './results.ts';
import { searchTag } from './tag-search.ts';
import { searchText } from './text-search.ts';

export interface SearchContext extends Stores {
  recentResponses: RecentResponses;
  metrics: {
    timeSearch<T>(kind: 'text' | 'tag', search: () => Promise<T>): Promise<T>;
  };
}

/**
 * Returns a page of the public spaces that a text finds.
 * @throws DomainError `invalid_cursor`
 */
export function searchByText(
  context: SearchContext,
  query: string,
  page: PageRequest,
): Promise<SearchResponse> {
  return respond(context, 'text', query, page, (revision) =>
    searchText(context, query, page, revision),
  );
}

/**
 * Returns a page of the public spaces that have a tag.
 * @throws DomainError `invalid_cursor`
 */
export function searchByTag(
  context: SearchContext,
  tag: string,
  page: PageRequest,
): Promise<SearchResponse> {
  return respond(context, 'tag', tag, page, (revision) => searchTag(context, tag, page, revision));
}

function respond(
  { engine, recentResponses, metrics }: SearchContext,
  kind: 'text' | 'tag',
  query: string,
  { limit, cursor }: PageRequest,
  search: (revision: number) => Promise<Page<SearchResultJson>>,
): Promise<SearchResponse> {
  const key = JSON.stringify([kind, query, limit, cursor]);
  return metrics.timeSearch(kind, () =>
    recallResponse(engine, recentResponses, key, async (revision) => {
      const { items, next } = await search(revision);
      return { body: Buffer.from(`[${items.join(',')}]`), next };
    }),
  );
}
