import { setTimeout as sleep } from 'node:timers/promises';
import type Sqlite from 'better-sqlite3';
import { isBusy } from './errors.ts';

const LOCK_RETRY_INTERVAL_MS = 5;

/**
 * Rewrites the database file without unused space. `secure_delete` overwrites deleted rows, but when SQLite moves a row
 * within a page, it leaves a copy in unused space. Blocks the calling thread and all writers.
 *
 * Needs free disk space for a temporary copy, and for the write-ahead log, which contains the result until a
 * checkpoint.
 * @param signal stops waiting for other writers
 * @returns whether the file was rewritten; false if `signal` was aborted
 */
export async function vacuum(sqlite: Sqlite.Database, signal: AbortSignal): Promise<boolean> {
  // `openFile` sets MEMORY, but this temporary file is as large as the database.
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
