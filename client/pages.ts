import { abortReason } from './errors.ts';
import { type ClientResponse, receiveArray } from './http.ts';

/**
 * Yields the pages of a list. Each is requested only when the loop needs it. A page can be empty and not the last one.
 *
 * Only the cursor of the `Link` header is used, not its URL, so access tokens are sent to no other server.
 *
 * @param request requests the page at a cursor; the first page has none
 * @param signal ends the iteration; pass it to the operation too, so that it also aborts a request
 * @throws {@link ApiError} if a request fails
 * @throws the signal's reason if the signal aborts
 */
export async function* pages<Item>(
  request: (cursor: string | undefined) => ClientResponse<Item[]>,
  signal?: AbortSignal,
): AsyncGenerator<Item[], void, undefined> {
  let cursor: string | undefined;
  do {
    if (signal?.aborted) throw abortReason(signal);
    const response = request(cursor);
    const items = await receiveArray(response).catch((error) => {
      throw signal?.aborted ? abortReason(signal) : error;
    });
    yield items;
    cursor = cursorOfNextPage((await response).response);
  } while (cursor !== undefined);
}

/** Returns the cursor in the `Link` header; undefined after the last page. */
function cursorOfNextPage(response: Response | undefined): string | undefined {
  const link = response?.headers.get('Link') ?? '';
  return /<[^>]*[?&]cursor=([\w-]+)[^>]*>; rel="next"/.exec(link)?.[1];
}
