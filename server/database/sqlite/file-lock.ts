import { accessSync, constants } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import Sqlite from 'better-sqlite3';
import { explainFailure, isBusy } from './errors.ts';

const RETRY_INTERVAL_MS = 50;

/** Any number of processes can hold a shared lock. An exclusive lock excludes all others. */
type LockMode = 'shared' | 'exclusive';

interface LockOptions {
  mode: LockMode;
  /** How long to wait for other processes. */
  timeoutMs: number;
  /** Called once if other processes hold the lock. */
  onWait?: (() => void) | undefined;
}

/**
 * Acquires the lock of a file, which is created if it is missing and stays empty. The lock is an open transaction of
 * SQLite, so the operating system releases it when the process ends, even if it is killed.
 * @returns the lock, released when it is disposed of; undefined after the timeout
 * @throws OperatorError if the file cannot be used; the error of Node.js if this user may not write it
 */
export async function acquireFileLock(
  file: string,
  { mode, timeoutMs, onWait = () => {} }: LockOptions,
): Promise<Disposable | undefined> {
  const deadline = performance.now() + timeoutMs;
  let sqlite: Sqlite.Database | undefined;
  let isAcquired = false;
  try {
    const opened = new Sqlite(file, { timeout: 0 });
    sqlite = opened;
    // On a file that it cannot write, SQLite would acquire a shared lock instead of an exclusive one.
    accessSync(file, constants.W_OK);
    for (let attempt = 1; ; attempt += 1) {
      isAcquired = tryLock(opened, mode);
      if (isAcquired) return { [Symbol.dispose]: () => void opened.close() };
      if (attempt === 1) onWait();
      if (performance.now() > deadline) return undefined;
      // Jitter, because two exclusive attempts at the same time can both fail.
      await sleep(RETRY_INTERVAL_MS * (0.5 + Math.random()));
    }
  } catch (error) {
    throw explainFailure(error, file);
  } finally {
    if (!isAcquired) sqlite?.close();
  }
}

function tryLock(sqlite: Sqlite.Database, mode: LockMode): boolean {
  try {
    // Otherwise the transaction would create a journal file.
    sqlite.pragma('journal_mode = MEMORY');
    sqlite.exec(mode === 'exclusive' ? 'BEGIN EXCLUSIVE' : 'BEGIN');
    // A deferred transaction acquires its shared lock at the first read.
    sqlite.prepare('SELECT count(*) FROM sqlite_schema').get();
    return true;
  } catch (error) {
    if (sqlite.inTransaction) sqlite.exec('ROLLBACK');
    if (!isBusy(error)) throw error;
    return false;
  }
}
