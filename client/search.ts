import type { Client } from '../generated/client/index.ts';
import { searchSpaces, searchSpacesByTag } from '../generated/sdk.gen.ts';
import type { SearchResult } from '../generated/types.gen.ts';
import { SearchError } from './errors.ts';
import { type ApiOptions, connect, dataOf } from './http.ts';

/** The most code points that the full-text search takes. Tags have at most 64. */
const LONGEST_QUERY = 200;

/** The first page of each search, public spaces only. */
export interface CombinedSearchResults {
  /** The spaces that carry a tag of this name. */
  tagSearchResults: SearchResult[];
  /** The spaces with these words in title or description. */
  generalSearchResults: SearchResult[];
}

/** The tag search and the full-text search in one, as a search box needs them. Public. */
export class SearchAPI {
  readonly #client: Client;

  constructor(options: ApiOptions) {
    this.#client = connect(options);
  }

  /**
   * Searches tags and texts in parallel for what someone typed.
   *
   * Any text is fine. A blank one finds nothing, without a request. `.` and `..` cannot be part of
   * a path, so no tag is looked up for them. Of more than 200 code points, which no tag has, the
   * first 200 are looked for in texts; the service heeds only the first 12 words anyway.
   *
   * @param options.signal aborts both requests
   * @throws {@link SearchError} when either search fails, with what the other one found
   * @throws the signal's reason when it aborts
   */
  async search(
    query: string,
    { signal }: { signal?: AbortSignal } = {},
  ): Promise<CombinedSearchResults> {
    // No URL can carry unpaired surrogates. Under `u` the class leaves those in pairs alone.
    const text = query.trim().replace(/[\uD800-\uDFFF]/gu, '\uFFFD');
    if (text === '') return { tagSearchResults: [], generalSearchResults: [] };

    const codePoints = [...text];
    const isTag = text !== '.' && text !== '..' && codePoints.length <= LONGEST_QUERY;
    const q = codePoints.slice(0, LONGEST_QUERY).join('');
    const request = { client: this.#client, signal };
    const [tag, general] = await Promise.allSettled([
      isTag
        ? dataOf(searchSpacesByTag({ ...request, path: { tag: text } }), 'filter').then(publicOnes)
        : [],
      dataOf(searchSpaces({ ...request, query: { q } }), 'filter').then(publicOnes),
    ]);
    if (tag.status === 'fulfilled' && general.status === 'fulfilled') {
      return { tagSearchResults: tag.value, generalSearchResults: general.value };
    }
    if (signal?.aborted) throw signal.reason ?? abortError();
    throw new SearchError(tag, general);
  }
}

function publicOnes(spaces: SearchResult[]): SearchResult[] {
  return spaces.filter(({ visibility }) => visibility === 'public');
}

/** For React Native, whose signals carry no reason and which has no DOMException. */
function abortError(): Error {
  return Object.assign(new Error('The search was aborted.'), { name: 'AbortError' });
}
