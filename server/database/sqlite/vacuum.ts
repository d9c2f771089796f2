import { setTimeout as sleep } from 'node:timers/promises';
import type Sqlite from 'better-sqlite3';
import { isBusy } from './errors.ts';

const LOCK_RETRY_INTERVAL_MS = 5;

/**
 * Rewrites the database file. SQLite overwrites what it deletes, but not the copies that it leaves in unused parts of a
 * page when it moves rows within it. A rewritten file has none of them. Blocks the calling thread and all writers. Needs
 * free disk space for a temporary copy and for the write-ahead log, which holds the result until it is checkpointed.
 * @param signal stops waiting for other writers
 * @returns whether the file has been rewritten
 */
export async function vacuum(sqlite: Sqlite.Database, signal: AbortSignal): Promise<boolean> {
  // For the temporary copy, which would not fit into memory.
  sqlite.pragma('temp_store = FILE');
  while (!signal.aborted) {
    try {
      sqlite.exec('VACUUM');
      return true;
    } catch (error) {
      if (!isBusy(error)) throw error;
      await sleep(LOCK_RETRY_INTERVAL_MS);
    }
  }
  return false;
}
