import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

// The metrics show when the last backup succeeded. The commands that write backups end long before a scrape.

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
