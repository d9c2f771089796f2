import { isStorable } from './characters.ts';

/** Maximum depth of arrays and objects in a request body. The contract needs three. */
const MAX_DEPTH = 8;

/** Returns whether the arrays and objects in a value are nested more deeply than in any valid request body. */
export function isTooDeep(value: unknown, remainingDepth = MAX_DEPTH): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (remainingDepth === 0) return true;
  return Object.values(value).some((child) => isTooDeep(child, remainingDepth - 1));
}

/**
 * Returns a JSON pointer (RFC 6901) to a string that the database or JSON would change, or to an object with such a
 * key. Returns undefined if there is none.
 * @param value must not be nested deeply: see `isTooDeep`
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
