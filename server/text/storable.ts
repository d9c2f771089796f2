/**
 * Where, as a JSON pointer, a JSON value holds text that cannot be stored and sent back: NUL, or half of a surrogate
 * pair. Undefined if nowhere.
 */
export function findUnstorable(value: unknown): string | undefined {
  // No recursion: values may be nested as deeply as their sender likes.
  const rest: { item: unknown; at: string }[] = [{ item: value, at: '' }];
  for (let next = rest.pop(); next; next = rest.pop()) {
    const { item, at } = next;
    if (typeof item === 'string' && !isStorable(item)) return at;
    if (typeof item !== 'object' || item === null) continue;
    for (const [key, child] of Object.entries(item)) {
      if (!isStorable(key)) return at;
      rest.push({ item: child, at: `${at}/${escapePointer(key)}` });
    }
  }
  return undefined;
}

/** A key as a step of a JSON pointer (RFC 6901). */
export function escapePointer(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}

function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}
