import { createHash } from 'node:crypto';

/**
 * Returns the time of a record in UTC with milliseconds, or the current time if the record has none or a later one.
 * Later times would come after everything that happens next, and hide unread messages.
 */
export function timeOrNow(text: string | undefined): string {
  const now = Date.now();
  return new Date(text === undefined ? now : Math.min(Date.parse(text), now)).toISOString();
}

/** Returns an id for a record without one: 132 bits of a hash. The same record always gets the same id. */
export function deriveId(...parts: (string | undefined)[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 22);
}
