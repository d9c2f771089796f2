import type Sqlite from 'better-sqlite3';
import { busyError, explainFailure } from './errors.ts';
import { openFile } from './open-file.ts';
import { vacuum } from './vacuum.ts';
import { truncateWal } from './wal.ts';

/** How long to wait for locks of other processes. */
const LOCK_TIMEOUT_MS = 30_000;

/**
 * Writes a consistent copy of a database, also while other processes write to it.
 * @param target a file that is missing or empty
 * @throws OperatorError if the database or the copy cannot be read or written
 */
export async function copyFile(file: string, target: string): Promise<void> {
  await withFile(file, async (sqlite) => {
    sqlite.pragma(`busy_timeout = ${LOCK_TIMEOUT_MS}`);
    sqlite.prepare('VACUUM INTO ?').run(target);
  });
}

/**
 * Rewrites a database, so that its files contain no deleted content. Other writers wait until it is done.
 * @throws OperatorError if the database cannot be read or written, or if other processes lock it for too long
 */
export async function compactFile(file: string, lockTimeoutMs = LOCK_TIMEOUT_MS): Promise<void> {
  await withFile(file, async (sqlite) => {
    const isDone =
      (await vacuum(sqlite, AbortSignal.timeout(lockTimeoutMs))) &&
      (await truncateWal(sqlite, AbortSignal.timeout(lockTimeoutMs)));
    if (!isDone) throw busyError('Other processes used the database for too long.');
  });
}

async function withFile(
  file: string,
  work: (sqlite: Sqlite.Database) => Promise<void>,
): Promise<void> {
  let sqlite: Sqlite.Database | undefined;
  try {
    sqlite = openFile(file);
    await work(sqlite);
  } catch (error) {
    throw explainFailure(error, file);
  } finally {
    sqlite?.close();
  }
}
