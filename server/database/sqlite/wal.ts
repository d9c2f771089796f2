import { setTimeout as sleep } from 'node:timers/promises';
import type Sqlite from 'better-sqlite3';
import { sql } from 'kysely';
import type { Database } from '../engine.ts';

/** How many pages of the write-ahead log are worth a checkpoint. */
const MIN_CHECKPOINT_PAGES = 1_000;

const READER_RETRY_INTERVAL_MS = 5;

/** Copies the write-ahead log into the database file once it has grown. Readers and writers do not wait. */
export async function checkpointWal(db: Database): Promise<void> {
  const checkpoint = sql<{ log: number; checkpointed: number }>;
  // NOOP only reports how many pages the log has, and how many of them have been copied.
  const { rows } = await checkpoint`PRAGMA wal_checkpoint(NOOP)`.execute(db);
  const { log = 0, checkpointed = 0 } = rows[0] ?? {};
  if (log - checkpointed < MIN_CHECKPOINT_PAGES) return;
  await checkpoint`PRAGMA wal_checkpoint(PASSIVE)`.execute(db);
}

/**
 * Copies the write-ahead log into the database file, and truncates it to zero bytes.
 * @param signal stops waiting for readers and writers that still need the log
 * @returns whether the log has been truncated
 */
export async function truncateWal(sqlite: Sqlite.Database, signal: AbortSignal): Promise<boolean> {
  while (!signal.aborted) {
    const [result] = sqlite.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[];
    if (result?.busy === 0) return true;
    await sleep(READER_RETRY_INTERVAL_MS);
  }
  return false;
}
