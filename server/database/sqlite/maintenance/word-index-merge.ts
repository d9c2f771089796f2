import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Database } from '../../engine.ts';
import { checkpointWal } from '../wal.ts';

// FTS5 stores its index in segments. Every transaction adds one, and every query reads all of them. The schema disables
// FTS5's automatic merges, because they can block a writer for seconds. See
// https://sqlite.org/fts5.html#the_merge_command

/** Number of index pages written per step. With a million spaces, a step delays writers by at most about 40 ms. */
const MERGE_STEP_PAGES = 512;

/** Time between two steps, for waiting writers to acquire the write lock. */
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
  // A negative number of pages starts a merge of all segments. Later steps with a positive number continue it.
  await mergeStep(db, -MERGE_STEP_PAGES);
  await mergeWordIndex(db, stopping);
}

/** @returns whether there may be more to merge */
async function mergeStep(db: Database, pages: number): Promise<boolean> {
  return db.transaction().execute(async (trx) => {
    const changesBefore = await totalChanges(trx);
    // FTS5 requires an integer, but better-sqlite3 binds numbers as floating-point values.
    await sql`INSERT INTO word_index (word_index, rank) VALUES ('merge', ${sql.lit(pages)})`.execute(
      trx,
    );
    // As documented, a difference of less than 2 means that nothing was left to merge.
    return (await totalChanges(trx)) - changesBefore >= 2;
  });
}

async function totalChanges(db: Database): Promise<number> {
  const { rows } = await sql<{ changes: number }>`SELECT total_changes() AS changes`.execute(db);
  return rows[0]?.changes ?? 0;
}
