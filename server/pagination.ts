/**
 * The start of a page of a list, as JSON values. Only the domain function that returns the list knows the meaning of its parts. Clients
 * receive it as an encrypted cursor, see `http/cursors.ts`.
 */
export type Position = readonly (string | number | object)[];

/** One page of a list. */
export interface Page<T> {
  items: T[];
  /** The start of the next page; null on the last page. */
  next: Position | null;
}

export interface PageRequest {
  limit: number;
  /** `next` of the previous page; undefined for the first page. */
  position?: Position | undefined;
}

/**
 * Returns a page of the first `limit` items.
 * @param items at most `limit + 1` items; an item beyond `limit` only shows that there is a next page
 * @param positionOf returns the position after an item
 */
export function pageOf<T>(items: T[], limit: number, positionOf: (item: T) => Position): Page<T> {
  const last = items.length > limit ? items[limit - 1] : undefined;
  return {
    items: items.slice(0, limit),
    next: last === undefined ? null : positionOf(last),
  };
}

/** Yields the pages of a list, each read once the previous one has been used. */
export async function* readPages<T>(
  readPage: (request: PageRequest) => Promise<Page<T>>,
  limit: number,
): AsyncGenerator<T[], void> {
  let position: Position | undefined;
  do {
    const page: Page<T> = await readPage({ limit, position });
    yield page.items;
    position = page.next ?? undefined;
  } while (position);
}
