import { parentPort, workerData } from 'node:worker_threads';
import { serializeError } from '../serialized-error.ts';
import type { CopySettings } from './copy.ts';
import { openFile } from './open-file.ts';

const { file, target, lockTimeoutMs } = workerData as CopySettings;
try {
  const sqlite = openFile(file);
  try {
    sqlite.pragma(`busy_timeout = ${lockTimeoutMs}`);
    sqlite.prepare('VACUUM INTO ?').run(target);
  } finally {
    sqlite.close();
  }
} catch (error) {
  parentPort?.postMessage(serializeError(error));
}
