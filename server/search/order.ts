/**
 * All rules of the order of results: a list is a sequence of rungs (see `ladder.ts`), and within a rung, a lower rank
 * comes first. The rank of a match is its key, minus a bonus for a match of the title.
 *
 * Keys are stored. After a change of the steps, increase `INDEX_VERSION` in `results.ts`. Ranks are in cursors. After
 * a change of a bonus, increase `VERSION` in `http/cursors.ts`. The other rules affect first pages only.
 */

/** The next interpretation of a query is tried if fewer spaces match those before. */
export const ENOUGH_RESULTS = 10;

/** Once there are results, spaces with only some of the words need this many. A single word says too little. */
export const MIN_WORDS_FOR_MORE_RESULTS = 2;

/**
 * Returns the sort key of a space in every search: popular spaces first, and the newest first within a popularity step.
 * All parts of the search index are sorted by this key, so a page is read without sorting.
 */
export function documentKey(spacePk: number, participants: number): number {
  // Multiplied instead of shifted, because JavaScript shifts only 32 bits.
  return popularityStep(participants) * KEYS_PER_STEP + (KEYS_PER_STEP - 1 - spacePk);
}

/** A popularity step has one key for each possible `spacePk`. */
export const KEYS_PER_STEP = 2 ** 32;

/** A title match ranks six popularity steps higher, like a space with about eight times as many participants. */
export const TITLE_BONUS = 6 * KEYS_PER_STEP;

/** More than all steps and `TITLE_BONUS`, so that titles that equal the query precede all other matches. */
export const EXACT_TITLE_BONUS = 64 * KEYS_PER_STEP;

/** Lower than every rank. */
export const FIRST_RANK = -1 - EXACT_TITLE_BONUS;

/**
 * The popularity step of spaces without participants. Step 0 has a million participants or more. docs/search.md counts
 * the steps in the other direction: its step is 39 minus this one.
 */
const LAST_STEP = 40;

/** Logarithmic steps, so that a space that gains participants rarely moves. */
const STEPS_PER_DOUBLING = 2;

export const MAX_KEY = (LAST_STEP + 1) * KEYS_PER_STEP - 1;

export function spacePkOf(key: number): number {
  return KEYS_PER_STEP - 1 - (key % KEYS_PER_STEP);
}

function popularityStep(participants: number): number {
  return Math.max(0, LAST_STEP - Math.floor(STEPS_PER_DOUBLING * Math.log2(1 + participants)));
}
