import { createHash } from 'node:crypto';

/** Returns the time of a record in UTC with milliseconds, or the current time if the record has none. */
export function timeOrNow(text: string | undefined): string {
  return (text === undefined ? new Date() : new Date(text)).toISOString();
}

/** Returns an id for a record without one: 132 bits of a hash. The same record always gets the same id. */
export function deriveId(...parts: (string | undefined)[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 22);
}
