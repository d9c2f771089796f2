import { access, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

// The metrics show when the last backup succeeded, and whether the last scheduled one failed. The processes that write
// backups are not those that return metrics.

const fileIn = (dataDir: string) => join(dataDir, 'last-backup.txt');

/** @throws the errors of the file system */
export async function recordBackup(dataDir: string): Promise<void> {
  await writeFile(fileIn(dataDir), `${new Date().toISOString()}\n`, { mode: 0o600 });
}

/** Returns the Unix time of the last backup in seconds; undefined if none is known. */
export async function readLastBackup(dataDir: string): Promise<number | undefined> {
  const text = await readFile(fileIn(dataDir), 'utf8').catch(() => '');
  const ms = Date.parse(text.trim());
  return Number.isNaN(ms) ? undefined : ms / 1000;
}

const failureFileIn = (dataDir: string) => join(dataDir, 'failed-backup.txt');

/**
 * @param message why the last scheduled backup failed; null if it succeeded
 * @throws the errors of the file system
 */
export async function recordBackupFailure(dataDir: string, message: string | null): Promise<void> {
  const file = failureFileIn(dataDir);
  if (message === null) await rm(file, { force: true });
  else await writeFile(file, `${new Date().toISOString()} ${message}\n`, { mode: 0o600 });
}

/** Whether the last scheduled backup failed. */
export async function hasBackupFailed(dataDir: string): Promise<boolean> {
  return await access(failureFileIn(dataDir)).then(
    () => true,
    () => false,
  );
}
