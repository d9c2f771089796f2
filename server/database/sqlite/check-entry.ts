import { parentPort, workerData } from 'node:worker_threads';
import { serializeError } from '../serialized-error.ts';
import type { CheckResult, CheckSettings } from './check.ts';
import { checkFile } from './damage.ts';

const { file, isFull } = workerData as CheckSettings;
const post = (result: CheckResult) => parentPort?.postMessage(result);
try {
  post(await checkFile(file, isFull));
} catch (error) {
  post({ error: serializeError(error) });
}
