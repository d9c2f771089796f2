/**
 * Where, as a JSON pointer, a JSON value holds text that cannot be stored and sent back: NUL, or half of a surrogate
 * pair. Undefined if nowhere.
 */
export function findUnstorable(value: unknown, pointer = ''): string | undefined {
  if (typeof value === 'string')
    return value.isWellFormed() && !value.includes('\0') ? undefined : pointer;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [key, item] of Object.entries(value)) {
    const at = `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    const found = findUnstorable(key, pointer) ?? findUnstorable(item, at);
    if (found !== undefined) return found;
  }
  return undefined;
}
