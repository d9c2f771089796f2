import type { Client } from '../generated/client/index.ts';
import { searchSpaces, searchSpacesByTag } from '../generated/sdk.gen.ts';
import type { SearchResult } from '../generated/types.gen.ts';
import { abortReason, SearchError } from './errors.ts';
import { type ApiOptions, createApiClient, receiveArray } from './http.ts';

/** The contract's limit for a text search. Tags have at most 64 code points. */
const MAX_QUERY_CODE_POINTS = 200;

/** The first page of each search. Contains public spaces only. */
export interface CombinedSearchResults {
  /** Spaces that have a tag with this name. */
  tagSearchResults: SearchResult[];
  /** Spaces with these words in title or description, then possibly results of one other query. */
  generalSearchResults: SearchResult[];
}

/** Options of a search. */
export interface SearchOptions {
  /** Aborts both requests. */
  signal?: AbortSignal;
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
    { signal, asTyped, onAnsweredQuery }: SearchOptions = {},
  ): Promise<CombinedSearchResults> {
    // URLs cannot contain unpaired surrogates. With the `u` flag, the class matches only these.
    const text = query.trim().replace(/[\uD800-\uDFFF]/gu, '\uFFFD');
    if (text === '') return { tagSearchResults: [], generalSearchResults: [] };

    const textSearch = searchByText(this.#client, text, { asTyped, signal });
    const [tag, general] = await Promise.allSettled([
      searchByTag(this.#client, text, signal),
      textSearch.then(({ spaces }) => spaces),
    ]);
    const areBothFulfilled = tag.status === 'fulfilled' && general.status === 'fulfilled';
    if (!areBothFulfilled && signal?.aborted) throw abortReason(signal);
    if (general.status === 'fulfilled') {
      const { answeredQuery } = await textSearch;
      if (answeredQuery !== null) onAnsweredQuery?.(answeredQuery);
    }
    if (!areBothFulfilled) throw new SearchError(tag, general);
    return { tagSearchResults: tag.value, generalSearchResults: general.value };
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
  { asTyped, signal }: Pick<SearchOptions, 'asTyped' | 'signal'>,
): Promise<{ spaces: SearchResult[]; answeredQuery: string | null }> {
  const q = Array.from(text).slice(0, MAX_QUERY_CODE_POINTS).join('');
  const as_typed = asTyped ? true : undefined;
  const request = searchSpaces({ client, signal, query: { q, as_typed } });
  const spaces = await receiveArray(request);
  const { response } = await request;
  return { spaces: spaces.filter(isPublic), answeredQuery: decodeAnsweredQuery(response) };
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
