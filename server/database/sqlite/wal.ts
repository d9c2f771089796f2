import { setTimeout as sleep } from 'node:timers/promises';
import type Sqlite from 'better-sqlite3';
import { sql } from 'kysely';
import type { Database } from '../engine.ts';

/** Fewer new pages are not worth a checkpoint. */
const MIN_CHECKPOINT_PAGES = 1_000;

const READER_RETRY_INTERVAL_MS = 5;

/** Copies the write-ahead log into the database file if it has grown enough. Does not block readers and writers. */
export async function checkpointWal(db: Database): Promise<void> {
  const checkpoint = sql<{ log: number; checkpointed: number }>;
  // NOOP only returns the number of pages in the log and the number already copied.
  const { rows } = await checkpoint`PRAGMA wal_checkpoint(NOOP)`.execute(db);
  const { log = 0, checkpointed = 0 } = rows[0] ?? {};
  if (log - checkpointed < MIN_CHECKPOINT_PAGES) return;
  await checkpoint`PRAGMA wal_checkpoint(PASSIVE)`.execute(db);
}

/**
 * Copies the write-ahead log into the database file and truncates it to zero bytes.
 * @param signal stops waiting for readers and writers that still use the log
 * @returns whether the log was truncated; false if `signal` was aborted
 */
export async function truncateWal(sqlite: Sqlite.Database, signal: AbortSignal): Promise<boolean> {
  while (!signal.aborted) {
    // TRUNCATE holds the write lock while it copies pages, so most of them are copied before.
    sqlite.pragma('wal_checkpoint(PASSIVE)');
    const [result] = sqlite.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[];
    if (result?.busy === 0) return true;
    await sleep(READER_RETRY_INTERVAL_MS);
  }
  return false;
}
