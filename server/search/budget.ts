/**
 * The remaining work that a request may do. It bounds the time of every request, whatever its text or cursor. It counts
 * work instead of time, so that results do not depend on the speed of the machine.
 */
export interface Budget {
  /** Estimated number of entries to read from the word index. */
  entries: number;
  /** Number of rows to read that do not belong to the page. A row with a long text to verify counts several times. */
  rejectedRows: number;
}

/** Several milliseconds of one core. */
const MAX_ENTRIES = 200_000;
const MAX_REJECTED_ROWS = 1_000;

export function newBudget(): Budget {
  return { entries: MAX_ENTRIES, rejectedRows: MAX_REJECTED_ROWS };
}

/** Each rung of a list may spend half of what the rungs before have left, so that later ones always have a share. */
export async function spendHalf<T>(budget: Budget, work: (half: Budget) => Promise<T>): Promise<T> {
  const half = { entries: budget.entries / 2, rejectedRows: budget.rejectedRows / 2 };
  budget.entries -= half.entries;
  budget.rejectedRows -= half.rejectedRows;
  const result = await work(half);
  budget.entries += half.entries;
  budget.rejectedRows += half.rejectedRows;
  return result;
}

/** Verifying this many characters takes about as long as reading a row. */
const VERIFIED_CHARACTERS_PER_ROW = 60;

/** @param verifiedCharacters length of the text that had to be verified */
export function rejectRow(budget: Budget, verifiedCharacters: number): void {
  budget.rejectedRows -= 1 + verifiedCharacters / VERIFIED_CHARACTERS_PER_ROW;
}

/** Skipping a space without a row takes at most this part of reading one. */
const MISSING_ROW_COST = 1 / 10;

/**
 * Call it for a space of the word index whose row is missing. For some seconds after an account was deleted or
 * suspended, a page may have to skip thousands of them.
 */
export function skipMissingRow(budget: Budget): void {
  budget.rejectedRows -= MISSING_ROW_COST;
}
