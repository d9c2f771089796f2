import { rename, rm, stat, truncate, writeFile } from 'node:fs/promises';
import Sqlite from 'better-sqlite3';

/** Ways to damage the file of the counters of rate limits. */
export const damageOfCounters: [string, (file: string) => Promise<void>][] = [
  ['overwritten', async (file) => writeFile(file, 'x'.repeat((await stat(file)).size))],
  ['truncated within a page', (file) => truncate(file, 1_000)],
  ['emptied', (file) => truncate(file, 0)],
  ['a database of another program', replaceByOtherDatabase],
  ['deleted', (file) => rm(file)],
];

async function replaceByOtherDatabase(file: string): Promise<void> {
  const other = `${file}.other`;
  new Sqlite(other).exec('CREATE TABLE login (text); PRAGMA user_version = 7').close();
  await rename(other, file);
}
