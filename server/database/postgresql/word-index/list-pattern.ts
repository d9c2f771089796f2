import { KeyList } from './key-list.ts';

/** A `WordPattern` in which each term is replaced by its posting list. */
export type ListPattern = KeyList | { allOf: ListPattern[] } | { anyOf: ListPattern[] };

/** Returns all lists of a pattern. */
export function listsOf(pattern: ListPattern): KeyList[] {
  if (pattern instanceof KeyList) return [pattern];
  return ('allOf' in pattern ? pattern.allOf : pattern.anyOf).flatMap(listsOf);
}

/** Returns lists that together contain every match: those of the part that seems to have the fewest keys. */
export function rarestLists(pattern: ListPattern): KeyList[] {
  if (pattern instanceof KeyList) return [pattern];
  if ('anyOf' in pattern) return pattern.anyOf.flatMap(rarestLists);
  const parts = pattern.allOf.map(rarestLists);
  const densities = parts.map((lists) => lists.reduce((sum, list) => sum + list.density, 0));
  return parts[densities.indexOf(Math.min(...densities))] as KeyList[];
}

/** Returns the keys of a range that are in any of the lists, in ascending order. */
export function unionOf(lists: readonly KeyList[], from: number, before: number): number[] {
  const [first, ...others] = lists;
  if (!first) return [];
  const keys = first.keysBetween(from, before);
  if (others.length === 0) return keys;
  const union = new Set(keys);
  for (const list of others) for (const key of list.keysBetween(from, before)) union.add(key);
  return [...union].sort((a, b) => a - b);
}

/** Returns whether the document with a key matches. All lists must have read the key. */
export function matches(pattern: ListPattern, key: number): boolean {
  if (pattern instanceof KeyList) return pattern.has(key);
  if ('allOf' in pattern) return pattern.allOf.every((part) => matches(part, key));
  return pattern.anyOf.some((part) => matches(part, key));
}
