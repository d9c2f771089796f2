import { isStorable } from './characters.ts';

/**
 * Returns a JSON pointer (RFC 6901) to a string that the database or JSON would change, or to an object with such a
 * key. Returns undefined if there is none.
 */
export function findUnstorable(value: unknown): string | undefined {
  // Not recursive, because a request body can be nested without limit.
  const pending: { item: unknown; pointer: string }[] = [{ item: value, pointer: '' }];
  for (let next = pending.pop(); next; next = pending.pop()) {
    const { item, pointer } = next;
    if (typeof item === 'string' && !isStorable(item)) return pointer;
    if (typeof item !== 'object' || item === null) continue;
    for (const [key, child] of Object.entries(item)) {
      if (!isStorable(key)) return pointer;
      pending.push({ item: child, pointer: `${pointer}/${escapePointer(key)}` });
    }
  }
  return undefined;
}

/** Escapes a key for a JSON pointer (RFC 6901). */
export function escapePointer(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}
