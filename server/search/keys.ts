/**
 * The order of every search, in one number: popular spaces first, in logarithmic steps so that a join seldom moves a
 * space, then the newest first. Indexes are sorted by this key, so a page is read from where it begins.
 */
export function documentKey(spacePk: number, participants: number): number {
  // Multiplied, because the result has more than the 32 bits of JavaScript's shifts.
  return popularityStep(participants) * KEYS_PER_STEP + (KEYS_PER_STEP - 1 - spacePk);
}

/** How far apart the keys of the same space are at two adjacent steps of popularity. */
export const KEYS_PER_STEP = 2 ** 32;

/** The step of spaces without participants. Step 0 is a million participants and more. */
export const LAST_STEP = 40;

export function stepOf(key: number): number {
  return Math.floor(key / KEYS_PER_STEP);
}

export function spacePkOf(key: number): number {
  return KEYS_PER_STEP - 1 - (key % KEYS_PER_STEP);
}

function popularityStep(participants: number): number {
  return Math.max(0, LAST_STEP - Math.floor(2 * Math.log2(1 + participants)));
}
