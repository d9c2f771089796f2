import { abortReason } from './errors.ts';
import { type ClientResponse, type Page, receivePage } from './http.ts';

/**
 * Yields the items of each page of a list. A page is requested only when the loop needs it. It can be empty and not the
 * last one.
 *
 * The two searches return a cursor only in the `Link` header. Only its cursor is used, not its URL, so all requests are
 * sent to the base URL.
 *
 * @param request requests the page at a cursor; the first page has none
 * @param signal ends the iteration; pass it to the operation too, so that it also aborts a request
 * @throws {@link ApiError} if a request fails
 * @throws the signal's reason if the signal aborts
 */
export async function* pages<Item>(
  request: (cursor: string | undefined) => ClientResponse<Page<Item> | Item[]>,
  signal?: AbortSignal,
): AsyncGenerator<Item[], void, undefined> {
  let cursor: string | undefined;
  do {
    if (signal?.aborted) throw abortReason(signal);
    const page = await receivePage(request(cursor)).catch((error) => {
      throw signal?.aborted ? abortReason(signal) : error;
    });
    yield page.items;
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
}
