import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { deserializeError, type SerializedError } from '../maintenance/thread-messages.ts';

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
export async function runCopyThread(settings: CopySettings): Promise<void> {
  const worker = new Worker(new URL('./copy-entry.ts', import.meta.url), { workerData: settings });
  let failure: SerializedError | undefined;
  worker.on('message', (error: SerializedError) => {
    failure = error;
  });
  await once(worker, 'exit');
  if (failure) throw deserializeError(failure);
}
