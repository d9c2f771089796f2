import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Database } from '../database/engine.ts';
import { prepare } from '../database/prepared.ts';
import type { WordQuery } from '../database/word-index.ts';
import type { AvatarResources } from '../resources.ts';
import { type Budget, estimateEntries } from './budget.ts';
import type { Dictionary } from './dictionary/dictionary.ts';
import { slicesAfter } from './slices.ts';

/**
 * Number of index entries that one statement reads, in about 4 ms. Larger searches are divided into slices, and other
 * requests run in between.
 */
const MAX_ENTRIES_PER_STATEMENT = 80_000;

/** In a slice, the cost of an entry is about this many times as high, because it is compared with the slice's terms. */
const SLICED_ENTRY_COST = 2;

/** The state that all statements of a search share. */
export interface KeySearch {
  resources: AvatarResources;
  /** A snapshot of the search index. */
  db: Database;
  dictionary: Dictionary;
}

/** The result of one statement. */
export interface FoundKeys {
  /** In ascending order. */
  keys: number[];
  /** The last key that was searched; Infinity at the end. */
  reached: number;
}

/**
 * Returns keys of matching documents after a key, read by one statement of bounded cost. May return none although there
 * are matches after `reached`.
 * @param mayOverdraw whether to run the statement even if it costs more than the budget
 * @returns undefined if the budget is too small
 */
export async function findKeys(
  search: KeySearch,
  query: WordQuery,
  { after, limit }: { after: number; limit: number },
  budget: Budget,
  mayOverdraw = false,
): Promise<FoundKeys | undefined> {
  const { dictionary, db } = search;
  const { wordIndex } = search.resources.engine;
  const entries = estimateEntries(dictionary, query, dictionary.spaces, limit);
  if (entries <= MAX_ENTRIES_PER_STATEMENT) {
    if (!spend(budget, entries, mayOverdraw)) return undefined;
    const keys = await wordIndex.find(db, query, { after, limit });
    return { keys, reached: lastKeyAtLimit(keys, limit) ?? Infinity };
  }

  const slicedEntries = entries * SLICED_ENTRY_COST;
  const sliceSize = Math.ceil((dictionary.spaces * MAX_ENTRIES_PER_STATEMENT) / slicedEntries);
  const slices = slicesAfter(dictionary, after, await readMaxSpacePk(search), sliceSize);
  const { value: slice } = slices.next();
  if (!slice) return { keys: [], reached: Infinity };
  const share = Math.min(1, slice.documents / dictionary.spaces);
  if (!spend(budget, share * slicedEntries, mayOverdraw)) return undefined;
  const keys = await wordIndex.find(db, query, { after, limit, within: slice });
  await yieldToEventLoop();
  return {
    keys,
    reached: lastKeyAtLimit(keys, limit) ?? (slice.isLast ? Infinity : slice.lastKey),
  };
}

function spend(budget: Budget, entries: number, mayOverdraw: boolean): boolean {
  if (entries > budget.entries && !mayOverdraw) return false;
  budget.entries -= entries;
  return true;
}

/** Returns the last key if the statement stopped at its limit; undefined if it searched its whole range. */
function lastKeyAtLimit(keys: number[], limit: number): number | undefined {
  return keys.length < limit ? undefined : keys.at(-1);
}

const selectMaxSpacePk = prepare({}, (db) =>
  db.selectFrom('public_spaces').select(({ fn }) => fn.max('space_pk').as('pk')),
);

/** Returns the `pk` of the newest public space; 0 if there is none. */
async function readMaxSpacePk({ db }: KeySearch): Promise<number> {
  const [row] = await selectMaxSpacePk(db, {});
  return row?.pk ?? 0;
}
