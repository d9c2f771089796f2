import type { Client } from '../generated/client/index.ts';
import { searchSpaces, searchSpacesByTag } from '../generated/sdk.gen.ts';
import type { SearchResult } from '../generated/types.gen.ts';
import { abortReason, SearchError } from './errors.ts';
import { type ApiOptions, type ClientResponse, createApiClient, receivePage } from './http.ts';
import { pages } from './pages.ts';

/** The contract's limit for a text search. Tags have at most 64 code points. */
const MAX_QUERY_CODE_POINTS = 200;

/** The first page of each search. Contains public spaces only. */
export interface CombinedSearchResults {
  /** Spaces that have a tag with this name. */
  tagSearchResults: SearchResult[];
  /** Spaces with these words in title or description, then possibly results of one other query. */
  generalSearchResults: SearchResult[];
}

/** Options of the pages of a search. */
export interface SearchPageOptions {
  /** Ends the iteration and aborts its request. */
  signal?: AbortSignal;
  /** Maximum number of spaces in a page, from 1 to 100; 20 by default. */
  limit?: number;
}

/** Options of a search. */
export interface SearchOptions {
  /** Aborts both requests. */
  signal?: AbortSignal;
  /** Maximum number of spaces in each of the two lists, from 1 to 100; 20 by default. */
  limit?: number;
  /** Whether the text search returns only spaces that match the query as typed. */
  asTyped?: boolean;
  /**
   * Receives the other query, such as a corrected one, if the text search also returns its
   * results. Show it to the user: "Also showing results for …".
   *
   * It is called at most once, before the search resolves or rejects with a {@link SearchError}. If it
   * throws, the search rejects with its error.
   */
  onAnsweredQuery?: (query: string) => void;
}

/** Combines the tag search and the text search. Needs no access token. */
export class SearchAPI {
  readonly #client: Client;

  /** @throws TypeError if `baseUrl` is not an HTTP URL, a path or empty */
  constructor(options: ApiOptions) {
    this.#client = createApiClient(options);
  }

  /**
   * Searches public spaces by tag and by text, with two parallel requests.
   *
   * Accepts any string. A blank query returns two empty arrays and sends no request. The queries `.`
   * and `..` send no tag request, because URL parsers resolve them as relative path segments. If a
   * query is longer than 200 code points, the text search uses the first 200, and there is no
   * tag request.
   *
   * @throws {@link SearchError} if a request fails; it holds the results of the other request
   * @throws the signal's reason if the signal aborts
   * @throws the error that `onAnsweredQuery` throws
   */
  async search(
    query: string,
    { signal, limit, asTyped, onAnsweredQuery }: SearchOptions = {},
  ): Promise<CombinedSearchResults> {
    const text = normalize(query);
    if (text === '') return { tagSearchResults: [], generalSearchResults: [] };

    const client = this.#client;
    const textRequest = textSearch(client, text, { signal, limit, asTyped })();
    const [tag, general] = await Promise.allSettled([
      isRequestableTag(text) ? receivePublic(tagSearch(client, text, { signal, limit })()) : [],
      receivePublic(textRequest),
    ]);
    const areBothFulfilled = tag.status === 'fulfilled' && general.status === 'fulfilled';
    if (!areBothFulfilled && signal?.aborted) throw abortReason(signal);
    if (general.status === 'fulfilled') {
      const answeredQuery = decodeAnsweredQuery((await textRequest).response);
      if (answeredQuery !== null) onAnsweredQuery?.(answeredQuery);
    }
    if (!areBothFulfilled) throw new SearchError(tag, general);
    return { tagSearchResults: tag.value, generalSearchResults: general.value };
  }

  /**
   * Yields every page of the tag search, from the first one. Accepts and limits queries like `search`.
   * @throws `ApiError` if a request fails
   * @throws the signal's reason if the signal aborts
   */
  tagPages(query: string, options: SearchPageOptions = {}): SearchPages {
    const tag = normalize(query);
    return publicPages(isRequestableTag(tag) && tagSearch(this.#client, tag, options), options);
  }

  /**
   * Yields every page of the text search, from the first one. Accepts and limits queries like `search`.
   * @throws `ApiError` if a request fails
   * @throws the signal's reason if the signal aborts
   */
  generalPages(
    query: string,
    options: SearchPageOptions & Pick<SearchOptions, 'asTyped'> = {},
  ): SearchPages {
    const text = normalize(query);
    return publicPages(text !== '' && textSearch(this.#client, text, options), options);
  }
}

type SearchPages = AsyncGenerator<SearchResult[], void, undefined>;

/** @param request false if there is nothing to request */
async function* publicPages(
  request: false | ((cursor?: string) => ClientResponse<SearchResult[]>),
  { signal }: SearchPageOptions,
): SearchPages {
  if (!request) return;
  for await (const spaces of pages(request, signal)) yield spaces.filter(isPublic);
}

function normalize(query: string): string {
  // URLs cannot contain unpaired surrogates. With the `u` flag, the class matches only these.
  return query.trim().replace(/[\uD800-\uDFFF]/gu, '\uFFFD');
}

function isRequestableTag(tag: string): boolean {
  return !['', '.', '..'].includes(tag) && Array.from(tag).length <= MAX_QUERY_CODE_POINTS;
}

/** Returns a function that requests the page at a cursor. */
function tagSearch(client: Client, tag: string, { signal, limit }: SearchPageOptions) {
  return (cursor?: string) =>
    searchSpacesByTag({ client, signal, path: { tag }, query: { limit, cursor } });
}

/** Returns a function that requests the page at a cursor. */
function textSearch(
  client: Client,
  text: string,
  { signal, limit, asTyped }: Omit<SearchOptions, 'onAnsweredQuery'>,
) {
  const q = Array.from(text).slice(0, MAX_QUERY_CODE_POINTS).join('');
  return (cursor?: string) =>
    searchSpaces({ client, signal, query: { q, as_typed: asTyped || undefined, limit, cursor } });
}

async function receivePublic(request: ClientResponse<SearchResult[]>): Promise<SearchResult[]> {
  const { items } = await receivePage(request);
  return items.filter(isPublic);
}

/** Returns the value of `Answered-Query`; null if the header is missing or malformed. */
function decodeAnsweredQuery(response: Response | undefined): string | null {
  try {
    return decodeURIComponent(response?.headers.get('Answered-Query') ?? '') || null;
  } catch {
    return null;
  }
}

function isPublic({ visibility }: SearchResult): boolean {
  return visibility === 'public';
}
