import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Retries, because threads of this process can still create files during the deletion. */
const REMOVAL_OPTIONS = { recursive: true, force: true, maxRetries: 10, retryDelay: 20 };

/**
 * Creates a temporary folder and returns its path. The folder is deleted when the process exits.
 * @param prefix the beginning of its name
 */
export function createTemporaryFolder(prefix: string): string {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  process.on('exit', () => rmSync(folder, REMOVAL_OPTIONS));
  return folder;
}
