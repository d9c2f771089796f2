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

/**
 * The popularity step of spaces without participants. Step 0 has a million participants or more. docs/search.md counts
 * the steps in the other direction: its step is 39 minus this one.
 */
export const LAST_STEP = 40;

/** Logarithmic steps, so that a space that gains participants rarely moves. */
const STEPS_PER_DOUBLING = 2;

export function stepOf(key: number): number {
  return Math.floor(key / KEYS_PER_STEP);
}

export function spacePkOf(key: number): number {
  return KEYS_PER_STEP - 1 - (key % KEYS_PER_STEP);
}

function popularityStep(participants: number): number {
  return Math.max(0, LAST_STEP - Math.floor(STEPS_PER_DOUBLING * Math.log2(1 + participants)));
}
