import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Engine, WordQuery } from '../database/engine.ts';
import { type Budget, entriesOf } from './budget.ts';
import type { Dictionary } from './dictionary/dictionary.ts';
import { maxSpacePk } from './revision.ts';
import { slicesAfter } from './slices.ts';

/** A statement that looks at more index entries is divided, and other requests run between its parts. About 2 ms. */
const MAX_ENTRIES_OF_STATEMENT = 100_000;

/** The result of one statement. */
export interface FoundKeys {
  /** In ascending order. */
  keys: number[];
  /** The last key that was looked at. Infinity if there are no more. */
  reached: number;
}

/**
 * Finds keys of matching documents after a key, with one statement of bounded cost. It may find none although there are
 * some further on.
 * @param isForced whether to overdraw the budget rather than find nothing
 * @returns undefined if the budget does not suffice
 */
export async function findKeys(
  engine: Engine,
  dictionary: Dictionary,
  query: WordQuery,
  { after, limit }: { after: number; limit: number },
  budget: Budget,
  isForced = false,
): Promise<FoundKeys | undefined> {
  const { pattern, except = [] } = query;
  // Every entry of a single list is a match, so that the limit bounds the cost.
  const isSingleList = 'term' in pattern && except.length === 0;
  const entries = isSingleList ? limit : entriesOf(dictionary, query, dictionary.spaces);
  if (entries <= MAX_ENTRIES_OF_STATEMENT) {
    if (!spend(budget, entries, isForced)) return undefined;
    const keys = await engine.wordIndex.find(engine.readDb, query, { after, limit });
    return { keys, reached: lastOf(keys, limit) ?? Infinity };
  }

  const sliceSize = Math.ceil((dictionary.spaces * MAX_ENTRIES_OF_STATEMENT) / entries);
  const slices = slicesAfter(dictionary, after, await maxSpacePk(engine), sliceSize);
  const { value: slice } = slices.next();
  if (!slice) return { keys: [], reached: Infinity };
  const entriesOfSlice = Math.min(entries, (slice.documents / dictionary.spaces) * entries);
  if (!spend(budget, entriesOfSlice, isForced)) return undefined;
  const within = slice.prefixes;
  const keys = await engine.wordIndex.find(engine.readDb, query, { after, limit, within });
  await yieldToEventLoop();
  return { keys, reached: lastOf(keys, limit) ?? (slice.isLast ? Infinity : slice.until) };
}

function spend(budget: Budget, entries: number, isForced: boolean): boolean {
  if (entries > budget.entries && !isForced) return false;
  budget.entries -= entries;
  return true;
}

/** The last key, if the limit kept the statement from going on. */
function lastOf(keys: number[], limit: number): number | undefined {
  return keys.length < limit ? undefined : keys.at(-1);
}
