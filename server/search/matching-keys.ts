import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Engine, WordQuery } from '../database/engine.ts';
import { type Budget, candidatesOf, countTerms } from './budget.ts';
import type { Dictionary } from './dictionary/dictionary.ts';
import { maxSpacePk } from './revision.ts';
import { slicesAfter } from './slices.ts';

/** A statement that looks at more index entries is divided. Other requests run between the parts. About 3 ms. */
const MAX_ENTRIES_OF_STATEMENT = 80_000;

/** Keys of documents, in ascending order. */
export interface FoundKeys {
  keys: number[];
  /** Where the search can continue; null if it found everything. */
  reached: number | null;
  /** Whether it ended because the budget was spent. */
  isCutShort: boolean;
}

/** Finds the keys of up to `limit` documents after a key, within the budget. */
export async function findKeys(
  engine: Engine,
  dictionary: Dictionary,
  query: WordQuery,
  { after, limit }: { after: number; limit: number },
  budget: Budget,
): Promise<FoundKeys> {
  const patterns = [query.pattern, ...(query.except ?? []).map(({ pattern }) => pattern)];
  const terms = patterns.reduce((sum, pattern) => sum + countTerms(pattern), 0);
  const candidates = candidatesOf(dictionary, query.pattern);
  // Every entry of a single list is a match, so that the limit bounds the cost.
  const entries = terms === 1 ? limit : candidates * terms;
  if (entries <= MAX_ENTRIES_OF_STATEMENT || dictionary.spaces === 0) {
    if (entries > budget.entries) return { keys: [], reached: after, isCutShort: true };
    budget.entries -= entries;
    const keys = await engine.wordIndex.find(engine.readDb, query, { after, limit });
    return { keys, reached: lastOf(keys, limit), isCutShort: false };
  }

  const keys: number[] = [];
  let reached = after;
  const sliceSize = Math.floor(MAX_ENTRIES_OF_STATEMENT / terms);
  for (const slice of slicesAfter(dictionary, after, await maxSpacePk(engine), sliceSize)) {
    const entriesOfSlice = Math.min(slice.documents, candidates) * terms;
    if (entriesOfSlice > budget.entries) return { keys, reached, isCutShort: true };
    budget.entries -= entriesOfSlice;
    const found = await engine.wordIndex.find(engine.readDb, query, {
      after: reached,
      limit: limit - keys.length,
      within: slice.prefixes,
    });
    keys.push(...found);
    if (keys.length >= limit) return { keys, reached: lastOf(keys, limit), isCutShort: false };
    reached = slice.until;
    await yieldToEventLoop();
  }
  return { keys, reached: null, isCutShort: false };
}

function lastOf(keys: number[], limit: number): number | null {
  return keys.length < limit ? null : (keys.at(-1) as number);
}
