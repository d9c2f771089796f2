import { isStorable } from './characters.ts';

/** Returns a JSON pointer to a text or key that cannot be stored and sent back; undefined if there is none. */
export function findUnstorable(value: unknown): string | undefined {
  // Without recursion, because a sender may nest values without limit.
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

/** Escapes a key for use in a JSON pointer (RFC 6901). */
export function escapePointer(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}
