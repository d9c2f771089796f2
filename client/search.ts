import type { Client } from '../generated/client/index.ts';
import { searchSpaces, searchSpacesByTag } from '../generated/sdk.gen.ts';
import type { SearchResult } from '../generated/types.gen.ts';
import { SearchError } from './errors.ts';
import { type ApiOptions, createApiClient, receiveArray } from './http.ts';

/** The contract's limit for the full-text search. Tags have at most 64 code points. */
const MAX_QUERY_CODE_POINTS = 200;

/** The first page of each search. Contains public spaces only. */
export interface CombinedSearchResults {
  /** Spaces that have a tag with this name. */
  tagSearchResults: SearchResult[];
  /** Spaces with these words in title or description. */
  generalSearchResults: SearchResult[];
}

/** Combines the tag search and the full-text search. Needs no access token. */
export class SearchAPI {
  readonly #client: Client;

  constructor(options: ApiOptions) {
    this.#client = createApiClient(options);
  }

  /**
   * Searches public spaces by tag and by text, with two parallel requests.
   *
   * Accepts any string. A blank query returns two empty arrays and sends no request. The queries `.`
   * and `..` send no tag request, because a URL path cannot contain them. If a query is longer than
   * 200 code points, the full-text search uses the first 200, and there is no tag request.
   *
   * @param options.signal aborts both requests
   * @throws {@link SearchError} if a request fails; it holds the results of the other request
   * @throws the signal's reason if the signal aborts
   */
  async search(
    query: string,
    { signal }: { signal?: AbortSignal } = {},
  ): Promise<CombinedSearchResults> {
    // URLs cannot carry unpaired surrogates. With the `u` flag, the class matches only those.
    const text = query.trim().replace(/[\uD800-\uDFFF]/gu, '\uFFFD');
    if (text === '') return { tagSearchResults: [], generalSearchResults: [] };

    const [tag, general] = await Promise.allSettled([
      searchByTag(this.#client, text, signal),
      searchByText(this.#client, text, signal),
    ]);
    if (tag.status === 'fulfilled' && general.status === 'fulfilled') {
      return { tagSearchResults: tag.value, generalSearchResults: general.value };
    }
    if (signal?.aborted) throw signal.reason ?? createAbortError();
    throw new SearchError(tag, general);
  }
}

async function searchByTag(
  client: Client,
  tag: string,
  signal: AbortSignal | undefined,
): Promise<SearchResult[]> {
  if (tag === '.' || tag === '..') return [];
  if (Array.from(tag).length > MAX_QUERY_CODE_POINTS) return [];
  const spaces = await receiveArray(searchSpacesByTag({ client, signal, path: { tag } }));
  return spaces.filter(isPublic);
}

async function searchByText(
  client: Client,
  text: string,
  signal: AbortSignal | undefined,
): Promise<SearchResult[]> {
  const q = Array.from(text).slice(0, MAX_QUERY_CODE_POINTS).join('');
  const spaces = await receiveArray(searchSpaces({ client, signal, query: { q } }));
  return spaces.filter(isPublic);
}

function isPublic({ visibility }: SearchResult): boolean {
  return visibility === 'public';
}

/** For React Native, which has no DOMException and whose signals have no reason. */
function createAbortError(): Error {
  const error = new Error('The search was aborted.');
  error.name = 'AbortError';
  return error;
}
