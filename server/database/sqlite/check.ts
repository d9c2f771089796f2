import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Check } from '../kind.ts';
import { deserializeError, type SerializedError } from '../serialized-error.ts';

/** Errors that follow a check within this time have the same cause. */
const MIN_CHECK_INTERVAL_MS = 30_000;

/** The `workerData` of the thread. */
export interface CheckSettings {
  file: string;
  isFull: boolean;
}

/** What the thread posts. */
export type CheckResult = Check | { error: SerializedError };

/** Runs `checkFile` on a thread, because it blocks its thread. */
export async function runCheck(file: string, isFull = false): Promise<Check> {
  const worker = new Worker(new URL('./check-entry.ts', import.meta.url), {
    workerData: { file, isFull } satisfies CheckSettings,
  });
  let result: CheckResult | undefined;
  worker.on('message', (message: CheckResult) => {
    result = message;
  });
  await once(worker, 'exit');
  if (!result) throw new Error('The check has ended without a result.');
  if ('error' in result) throw deserializeError(result.error);
  return result;
}

/** Checks and repairs a database when an error shows damage. */
export class DamageWatch {
  readonly #file: string;
  #running: Promise<void> | undefined;
  #endedAt = -Infinity;

  constructor(file: string) {
    this.#file = file;
  }

  /** Starts a check, unless one is running or has just ended. Its result is a warning, for the log. */
  report = (): void => {
    if (this.#running || performance.now() < this.#endedAt + MIN_CHECK_INTERVAL_MS) return;
    this.#running = this.#check().finally(() => {
      this.#endedAt = performance.now();
      this.#running = undefined;
    });
  };

  async #check(): Promise<void> {
    try {
      warn(this.#file, await runCheck(this.#file));
    } catch (error) {
      process.emitWarning(error as Error);
    }
  }

  /** Resolves when no check is running. */
  async settle(): Promise<void> {
    await this.#running;
  }
}

function warn(file: string, { index, data, isRepairable }: Check): void {
  const tables = [...data, ...index].map(({ table }) => table).join(', ');
  if (data.length > 0) {
    const remedy = isRepairable
      ? 'Run compact.'
      : 'Stop the service and restore the last good backup.';
    process.emitWarning(`${file} is damaged in ${tables}. ${remedy}`);
  } else if (index.length > 0) {
    process.emitWarning(
      `The search index was damaged in ${tables} and is being rebuilt. Then run compact at a quiet time, which removes the damaged pages.`,
    );
  }
}
