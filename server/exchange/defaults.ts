import { createHash } from 'node:crypto';

/** Returns a time in UTC with milliseconds; the current time for a record without one. */
export function timeOrNow(text: string | undefined): string {
  return (text === undefined ? new Date() : new Date(text)).toISOString();
}

/** Returns an id for a record without one: 132 bits of a hash, so that the same record always gets the same id. */
export function deriveId(...parts: (string | undefined)[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 22);
}
