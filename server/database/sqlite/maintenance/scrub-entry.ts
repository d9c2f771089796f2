import { serializeError } from '../../serialized-error.ts';
import { ioError } from '../errors.ts';
import { scrubFile } from './scrub.ts';

const [, , file = '', lockTimeoutMs] = process.argv;

const stopping = new AbortController();
process.once('message', () => stopping.abort());
// The service has exited without a stop request, for example because it was killed.
process.once('disconnect', () => stopping.abort());
if (!process.connected) stopping.abort();
// Ignored, because Ctrl+C also sends signals to this process. The service sends it a stop request.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});
try {
  await scrubFile(file, stopping.signal, Number(lockTimeoutMs));
} catch (error) {
  process.exitCode = 1;
  // The service can exit meanwhile. The empty callback ignores that nobody receives the error.
  process.send?.(
    serializeError(isSystemError(error) ? ioError(error.message, error) : error),
    () => {},
  );
}
if (process.connected) process.disconnect();

/** Whether Node.js could not read or write the file. SQLite's errors have no `syscall`. */
function isSystemError(error: unknown): error is Error {
  return error instanceof Error && 'syscall' in error;
}
