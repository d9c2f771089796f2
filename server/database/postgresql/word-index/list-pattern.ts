import { KeyList } from './key-list.ts';
import { mergeKeys } from './merge-keys.ts';

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

/** Returns the first keys of a range that are in any of the lists, in ascending order. */
export function unionOf(
  lists: readonly KeyList[],
  from: number,
  before: number,
  limit: number,
): readonly number[] {
  return mergeLists(lists.map((list) => list.keysBetween(from, before, limit))).slice(0, limit);
}

/**
 * Returns those of `keys` whose documents match. All lists must have read them.
 * @param keys in ascending order
 */
export function selectMatches(pattern: ListPattern, keys: readonly number[]): readonly number[] {
  if (pattern instanceof KeyList) return pattern.intersect(keys);
  if ('allOf' in pattern)
    return pattern.allOf.reduce((kept, part) => selectMatches(part, kept), keys);
  return mergeLists(pattern.anyOf.map((part) => selectMatches(part, keys)));
}

/** Returns the keys that are in any of the lists. Each list is in ascending order, and so is the result. */
function mergeLists(lists: readonly (readonly number[])[]): readonly number[] {
  const [first = [], ...others] = lists;
  if (others.length === 0) return first;
  const middle = lists.length >>> 1;
  return mergeKeys(mergeLists(lists.slice(0, middle)), mergeLists(lists.slice(middle)));
}
