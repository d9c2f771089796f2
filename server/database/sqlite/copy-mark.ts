import { open } from 'node:fs/promises';
import type Sqlite from 'better-sqlite3';

/** The `application_id` of copies: "SpBk". It distinguishes them from databases in use, which have none. */
const COPY_APPLICATION_ID = 0x5370426b;

/** Position of `application_id` in a database file: https://sqlite.org/fileformat.html#the_database_header */
const APPLICATION_ID_OFFSET = 68;

export function markAsCopy(sqlite: Sqlite.Database): void {
  sqlite.pragma(`application_id = ${COPY_APPLICATION_ID}`);
}

/**
 * Removes the mark of a copy that becomes a database in use, and begins a new epoch, because the original may have had
 * later transactions. Does nothing for other files.
 */
export function removeCopyMark(sqlite: Sqlite.Database): void {
  const id = sqlite.pragma('application_id', { simple: true });
  if (id !== COPY_APPLICATION_ID) return;
  sqlite.transaction(() => {
    sqlite.pragma('application_id = 0');
    // Copies of older versions have no such table. The migration begins an epoch.
    const table = sqlite.prepare(`SELECT 1 FROM sqlite_schema WHERE name = 'last_transaction'`);
    if (!table.get()) return;
    sqlite.exec('UPDATE last_transaction SET epoch = lower(hex(randomblob(16)))');
  })();
}

/** Whether these bytes are the beginning of a database file, such as a backup. */
export function isDatabaseFile(beginning: Buffer): boolean {
  return beginning.toString('latin1', 0, 16) === 'SQLite format 3\0';
}

/**
 * Whether a file is a marked copy: `copyDatabase` has written it, and no server or import has used it since. Does not
 * open it with SQLite.
 */
export async function isBackup(file: string): Promise<boolean> {
  await using handle = await open(file, 'r');
  const header = Buffer.alloc(APPLICATION_ID_OFFSET + 4);
  const { bytesRead } = await handle.read(header);
  return (
    bytesRead === header.length &&
    isDatabaseFile(header) &&
    header.readInt32BE(APPLICATION_ID_OFFSET) === COPY_APPLICATION_ID
  );
}
