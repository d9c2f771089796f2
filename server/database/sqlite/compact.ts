import { setTimeout as sleep } from 'node:timers/promises';
import type Sqlite from 'better-sqlite3';
import { busyError, explainFailure, isBusy } from './errors.ts';
import { openFile } from './open-file.ts';
import { truncateWal } from './wal.ts';

/** How long to wait for locks of other processes. */
const LOCK_TIMEOUT_MS = 30_000;

const LOCK_RETRY_INTERVAL_MS = 5;

/**
 * Rewrites a database, so that its files contain no deleted content. Other writers wait until it is done.
 * @throws OperatorError if the database cannot be read or written, or if other processes lock it for too long
 */
export async function compactFile(file: string, lockTimeoutMs = LOCK_TIMEOUT_MS): Promise<void> {
  let sqlite: Sqlite.Database | undefined;
  try {
    // `VACUUM` writes a temporary file that is as large as the database.
    sqlite = openFile(file, true);
    const isDone =
      (await vacuum(sqlite, AbortSignal.timeout(lockTimeoutMs))) &&
      (await truncateWal(sqlite, AbortSignal.timeout(lockTimeoutMs)));
    if (!isDone) throw busyError('Other processes used the database for too long.');
  } catch (error) {
    throw explainFailure(error, file);
  } finally {
    sqlite?.close();
  }
}

/**
 * Rewrites the database file without unused space. Despite `secure_delete`, this space can contain copies of deleted
 * rows: see `maintenance/scrub.ts`.
 *
 * Needs free disk space for a temporary copy, and for the write-ahead log, which contains the result until a
 * checkpoint.
 * @param signal stops waiting for other writers
 * @returns whether the file was rewritten; false if `signal` was aborted
 */
async function vacuum(sqlite: Sqlite.Database, signal: AbortSignal): Promise<boolean> {
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
