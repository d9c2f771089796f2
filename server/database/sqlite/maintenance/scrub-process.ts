import { fork } from 'node:child_process';
import { once } from 'node:events';
import { deserializeError, type SerializedError } from '../../serialized-error.ts';
import { ioError } from '../errors.ts';

/** Other maintenance waits meanwhile, for example while an export reads the database for a long time. */
const LOCK_TIMEOUT_MS = 60_000;

/**
 * Runs `scrubFile` in a process of its own, as it requires.
 * @param signal stops the process
 * @throws the error of `scrubFile`, or an I/O error like SQLite's if the process could not start or was killed
 */
export async function runScrubProcess(
  file: string,
  signal: AbortSignal,
  lockTimeoutMs = LOCK_TIMEOUT_MS,
): Promise<void> {
  const child = fork(new URL('./scrub-entry.ts', import.meta.url), [file, String(lockTimeoutMs)], {
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  let failure: Error | undefined;
  child.on('message', (error: SerializedError) => {
    failure = deserializeError(error);
  });
  // Sending to a process that has just ended fails. The empty callback ignores this error.
  const stop = () => child.connected && child.send('stop', () => {});
  signal.addEventListener('abort', stop);
  try {
    // If the process could not start, `code` is the text of the error.
    const [code, killedBy] = await once(child, 'close').catch((error) => [String(error)]);
    if (code !== 0) {
      failure ??= ioError(
        `The process that overwrites deleted content failed: ${killedBy ?? code}`,
      );
    }
  } finally {
    signal.removeEventListener('abort', stop);
  }
  if (failure) throw failure;
}
