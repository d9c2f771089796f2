import { serializeError } from '../../maintenance/thread-messages.ts';
import { ioError } from '../errors.ts';
import { scrubFile } from './scrub.ts';

const [, , file = ''] = process.argv;

const stopping = new AbortController();
process.once('message', () => stopping.abort());
// The service was killed.
process.once('disconnect', () => stopping.abort());
if (!process.connected) stopping.abort();
// Ctrl+C sends signals to this process, too. The service stops it when it stops itself.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});
try {
  await scrubFile(file, stopping.signal);
} catch (error) {
  process.exitCode = 1;
  process.send?.(serializeError(isSystemError(error) ? ioError(error.message, error) : error));
}
if (process.connected) process.disconnect();

/** Whether reading or writing the file failed without SQLite. */
function isSystemError(error: unknown): error is Error {
  return error instanceof Error && 'syscall' in error;
}
