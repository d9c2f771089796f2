import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { deserializeError, type SerializedError } from '../serialized-error.ts';
import { runCheck } from './check.ts';
import { markAsCopy } from './copy-mark.ts';
import { explainFailure, isDamage } from './errors.ts';
import { withPlainConnection } from './open-file.ts';

/** How long to wait for locks of other processes. */
const LOCK_TIMEOUT_MS = 30_000;

/**
 * Writes a consistent copy of a database, also while other processes write to it.
 * @param target a file that is missing or empty
 * @throws OperatorError if the database or the copy cannot be read or written
 */
export async function copyFile(file: string, target: string): Promise<void> {
  const copy = () => runCopyThread({ file, target, lockTimeoutMs: LOCK_TIMEOUT_MS });
  let failure = await copy();
  if (failure && isDamage(deserializeError(failure.error))) {
    const { index, data } = await runCheck(file);
    // A damaged search index has been replaced by an empty one.
    if (index.length > 0 && data.length === 0) {
      rmSync(target, { force: true });
      failure = await copy();
    }
  }
  if (failure) throw explainFailure(deserializeError(failure.error), failure.file);
  try {
    withPlainConnection(target, (sqlite) => {
      // Creates no other files beside the copy.
      sqlite.pragma('journal_mode = MEMORY');
      markAsCopy(sqlite);
    });
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

/** What the thread posts if the copy fails. */
export interface CopyFailure {
  /** An error of SQLite. */
  error: SerializedError;
  /** The file that the error concerns: the database or the copy. */
  file: string;
}

/**
 * Copies a database on a thread, because the copy blocks its thread and a signal must still be able to end the process.
 */
async function runCopyThread(settings: CopySettings): Promise<CopyFailure | undefined> {
  const worker = new Worker(new URL('./copy-entry.ts', import.meta.url), { workerData: settings });
  let failure: CopyFailure | undefined;
  worker.on('message', (message: CopyFailure) => {
    failure ??= message;
  });
  await once(worker, 'exit');
  return failure;
}
