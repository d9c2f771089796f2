import { isStorable } from './characters.ts';

/**
 * Returns a JSON pointer (RFC 6901) to a string that the database or JSON would change, or to an object with such a
 * key. Returns undefined if there is none.
 * @param value must not be nested deeply, because this function is recursive
 */
export function findUnstorable(value: unknown): string | undefined {
  if (typeof value === 'string') return isStorable(value) ? undefined : '';
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [key, child] of Object.entries(value)) {
    if (!isStorable(key)) return '';
    const pointer = findUnstorable(child);
    if (pointer !== undefined) return `/${escapePointer(key)}${pointer}`;
  }
  return undefined;
}

/** Escapes a key for a JSON pointer (RFC 6901). */
export function escapePointer(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}
