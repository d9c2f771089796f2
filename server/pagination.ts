import { DomainError } from './errors.ts';

export interface Page<T> {
  items: T[];
  /** The cursor of the next page. Null on the last page. */
  next: string | null;
}

export interface PageRequest {
  limit: number;
  cursor?: string | undefined;
}

/** Returns a cursor for a position in a list. Clients treat it as an opaque string. */
export function encodeCursor(position: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url');
}

/**
 * Returns the position that a cursor contains.
 * @param isPosition whether an array is a position in this list
 * @throws DomainError `invalid_cursor`
 */
export function decodeCursor<T extends readonly (string | number)[]>(
  cursor: string,
  isPosition: (parts: unknown[]) => parts is T & unknown[],
): T {
  const parts = parse(cursor);
  // Decoding ignores invalid characters, so the comparison is needed to detect them.
  if (!Array.isArray(parts) || !isPosition(parts) || encodeCursor(parts) !== cursor) {
    throw new DomainError(
      'invalid_cursor',
      'The cursor does not belong to this list. Use the one from the Link header of the previous page, unchanged.',
      [{ pointer: '?cursor', message: 'is not a cursor of this list' }],
    );
  }
  return parts;
}

/** Whether an array is a position in a list in order of time: a timestamp, and a number that makes it unique. */
export function isTimePosition(parts: unknown[]): parts is [string, number] {
  const [time, key] = parts;
  return (
    parts.length === 2 &&
    typeof time === 'string' &&
    /^[-+\dT:.Z]+$/.test(time) &&
    Number.isSafeInteger(key)
  );
}

function parse(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString());
  } catch {
    return undefined;
  }
}

/**
 * Makes a page out of rows.
 * @param rows up to `limit + 1` rows; the additional one tells whether there is a next page
 */
export function pageOf<T>(
  rows: T[],
  limit: number,
  positionOf: (row: T) => (string | number)[],
): Page<T> {
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  return {
    items: rows.slice(0, limit),
    next: last === undefined ? null : encodeCursor(positionOf(last)),
  };
}
