import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Database } from '../../engine.ts';
import { transact } from '../../transaction.ts';
import { checkpointWal } from '../wal.ts';

// FTS5 keeps its index in segments. Every transaction adds one, and every query reads them all. The schema turns off
// FTS5's automatic merges, because they can block a writer for seconds. See https://sqlite.org/fts5.html#the_merge_command

/** Index pages that one step writes. With a million spaces, such a step delays writers by at most about 40 ms. */
const MERGE_STEP_PAGES = 512;

/** A pause between two steps, in which waiting writers acquire the write lock. */
const STEP_INTERVAL_MS = 5;

/** Merges segments until no level of the index has four of them, which is FTS5's default for `usermerge`. */
export async function mergeWordIndex(db: Database, stopping: AbortSignal): Promise<void> {
  while (!stopping.aborted && (await mergeStep(db, MERGE_STEP_PAGES))) {
    await checkpointWal(db);
    await sleep(STEP_INTERVAL_MS);
  }
}

/** Merges all segments into one. Deleted words remain in the index until their segment is merged. */
export async function rewriteWordIndex(db: Database, stopping: AbortSignal): Promise<void> {
  // A negative number of pages marks all segments for merging. Later steps with a positive number continue that merge.
  await mergeStep(db, -MERGE_STEP_PAGES);
  await mergeWordIndex(db, stopping);
}

/** @returns whether there may be more to merge */
async function mergeStep(db: Database, pages: number): Promise<boolean> {
  return transact(db, async (trx) => {
    const changesBefore = await totalChanges(trx);
    // FTS5 accepts only an integer, and a bound number would be a floating-point one.
    await sql`INSERT INTO word_index (word_index, rank) VALUES ('merge', ${sql.lit(pages)})`.execute(
      trx,
    );
    // The documented sign that nothing was left to merge is a difference of less than two.
    return (await totalChanges(trx)) - changesBefore >= 2;
  });
}

async function totalChanges(db: Database): Promise<number> {
  const { rows } = await sql<{ changes: number }>`SELECT total_changes() AS changes`.execute(db);
  return rows[0]?.changes ?? 0;
}
