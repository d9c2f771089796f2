import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import Sqlite from 'better-sqlite3';
import { deserializeError, type SerializedError } from '../serialized-error.ts';
import { markAsCopy } from './copy-mark.ts';
import { explainFailure, isWriteFailure } from './errors.ts';

/** How long to wait for locks of other processes. */
const LOCK_TIMEOUT_MS = 30_000;

/**
 * Writes a consistent copy of a database, also while other processes write to it.
 * @param target a file that is missing or empty
 * @throws OperatorError if the database or the copy cannot be read or written
 */
export async function copyFile(file: string, target: string): Promise<void> {
  try {
    await runCopyThread({ file, target, lockTimeoutMs: LOCK_TIMEOUT_MS });
  } catch (error) {
    // A write failure concerns the copy, because nothing else is written. Other failures concern the database.
    throw explainFailure(error, isWriteFailure(error) ? target : file);
  }
  try {
    markFile(target);
  } catch (error) {
    throw explainFailure(error, target);
  }
}

/** The `workerData` of the thread. */
export interface CopySettings {
  file: string;
  target: string;
  lockTimeoutMs: number;
}

/**
 * Copies a database on a thread, because the copy blocks its thread and a signal must still be able to end the process.
 * @throws the error of SQLite
 */
async function runCopyThread(settings: CopySettings): Promise<void> {
  const worker = new Worker(new URL('./copy-entry.ts', import.meta.url), { workerData: settings });
  let failure: SerializedError | undefined;
  worker.on('message', (error: SerializedError) => {
    failure = error;
  });
  await once(worker, 'exit');
  if (failure) throw deserializeError(failure);
}

function markFile(file: string): void {
  const sqlite = new Sqlite(file);
  try {
    // Creates no other files beside the copy.
    sqlite.pragma('journal_mode = MEMORY');
    markAsCopy(sqlite);
  } finally {
    sqlite.close();
  }
}
