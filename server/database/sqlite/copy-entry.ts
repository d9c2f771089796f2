import { parentPort, workerData } from 'node:worker_threads';
import { serializeError } from '../serialized-error.ts';
import type { CopyFailure, CopySettings } from './copy.ts';
import { isWriteFailure } from './errors.ts';
import { openFile } from './open-file.ts';

const { file, target, lockTimeoutMs } = workerData as CopySettings;
try {
  const sqlite = openFile(file);
  try {
    sqlite.pragma(`busy_timeout = ${lockTimeoutMs}`);
    sqlite.prepare('VACUUM INTO ?').run(target);
  } catch (error) {
    // A write failure concerns the copy, because this statement writes nothing else.
    report(error, isWriteFailure(error) ? target : file);
  } finally {
    sqlite.close();
  }
} catch (error) {
  report(error, file);
}

function report(error: unknown, failedFile: string): void {
  const failure: CopyFailure = { error: serializeError(error), file: failedFile };
  parentPort?.postMessage(failure);
}
