/** Where a page of a list begins, as its domain describes it. Clients get it sealed, see `http/cursors.ts`. */
export type Position = readonly (string | number | Position)[];

/** One page of a list. */
export interface Page<T> {
  items: T[];
  /** Where the next page begins; null after the last page. */
  next: Position | null;
}

export interface PageRequest {
  limit: number;
  /** The `next` of the page before; undefined for the first page. */
  position?: Position | undefined;
}

/** Makes a page of `limit` items out of the up to `limit + 1` that were read. */
export function pageOf<T>(items: T[], limit: number, positionOf: (item: T) => Position): Page<T> {
  const last = items.length > limit ? items[limit - 1] : undefined;
  return {
    items: items.slice(0, limit),
    next: last === undefined ? null : positionOf(last),
  };
}
