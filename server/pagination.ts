import { DomainError } from './errors.ts';

/** One page of a list, and where the next one begins; null after the last. */
export interface Page<T> {
  items: T[];
  next: string | null;
}

/** What a caller asks of a list. */
export interface PageRequest {
  limit: number;
  cursor?: string | undefined;
}

/** Where a page begins, as an opaque text for clients to send back. */
export function encodeCursor(position: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url');
}

/**
 * Reads a cursor back.
 * @param isPosition whether the parts are what this list's cursors are made of
 * @throws DomainError `invalid_cursor`
 */
export function decodeCursor<T extends readonly (string | number)[]>(
  cursor: string,
  isPosition: (parts: unknown[]) => parts is T & unknown[],
): T {
  const parts = parse(cursor);
  if (!Array.isArray(parts) || !isPosition(parts) || encodeCursor(parts) !== cursor) {
    throw new DomainError(
      'invalid_cursor',
      'The cursor did not come from this list. Take it, unchanged, from the Link header of the page before.',
      [{ pointer: '?cursor', message: 'is not a cursor of this list' }],
    );
  }
  return parts;
}

/** Whether these are a position in a list ordered by time: a moment, and a number for what has the moment in common. */
export function isMoment(parts: unknown[]): parts is [string, number] {
  const [time, id] = parts;
  return (
    parts.length === 2 &&
    typeof time === 'string' &&
    /^[-+\dT:.Z]+$/.test(time) &&
    Number.isSafeInteger(id)
  );
}

function parse(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString());
  } catch {
    return undefined;
  }
}

/** Makes a page of `limit` items out of the up to `limit + 1` that were read. */
export function pageOf<T>(
  items: T[],
  limit: number,
  positionOf: (item: T) => (string | number)[],
): Page<T> {
  const last = items.length > limit ? items[limit - 1] : undefined;
  return {
    items: items.slice(0, limit),
    next: last === undefined ? null : encodeCursor(positionOf(last)),
  };
}
