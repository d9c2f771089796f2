import { existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import Sqlite from 'better-sqlite3';
import { runCopyThread } from './copy.ts';
import { busyError, explainFailure, isWriteFailure } from './errors.ts';
import { OPEN_TIMEOUT_MS, openFile } from './open-file.ts';
import { vacuum } from './vacuum.ts';
import { truncateWal } from './wal.ts';

/** How long to wait for locks of other processes. */
const LOCK_TIMEOUT_MS = 30_000;

/** The `application_id` of copies: "SpBk". It distinguishes them from databases in use, which have none. */
const COPY_APPLICATION_ID = 0x5370426b;

/** Position of `application_id` in a database file: https://sqlite.org/fileformat.html#the_database_header */
const APPLICATION_ID_OFFSET = 68;

/**
 * Writes a consistent copy of a database, also while other processes write to it.
 * @param target a file that is missing or empty
 * @throws OperatorError if the database or the copy cannot be read or written
 */
export async function copyFile(file: string, target: string): Promise<void> {
  try {
    await runCopyThread({ file, target, lockTimeoutMs: LOCK_TIMEOUT_MS });
  } catch (error) {
    // Only the copy is written, so other failures are those of the database.
    throw explainFailure(error, isWriteFailure(error) ? target : file);
  }
  await withFile(
    target,
    async (copy) => void copy.pragma(`application_id = ${COPY_APPLICATION_ID}`),
    openCopy,
  );
}

/** Whether a file is a copy by `copyFile`. */
export async function isMarkedAsCopy(file: string): Promise<boolean> {
  await using handle = await open(file, 'r');
  const header = Buffer.alloc(APPLICATION_ID_OFFSET + 4);
  const { bytesRead } = await handle.read(header);
  return (
    bytesRead === header.length &&
    header.toString('latin1', 0, 16) === 'SQLite format 3\0' &&
    header.readInt32BE(APPLICATION_ID_OFFSET) === COPY_APPLICATION_ID
  );
}

/** Removes the mark of a copy that becomes a database in use. Does nothing for other files. */
export function removeCopyMark(file: string): void {
  if (!existsSync(file)) return;
  const sqlite = new Sqlite(file, { timeout: OPEN_TIMEOUT_MS });
  try {
    const id = sqlite.pragma('application_id', { simple: true });
    if (id === COPY_APPLICATION_ID) sqlite.pragma('application_id = 0');
  } finally {
    sqlite.close();
  }
}

/** Opens a copy without creating other files beside it. */
function openCopy(file: string): Sqlite.Database {
  const sqlite = new Sqlite(file);
  sqlite.pragma('journal_mode = MEMORY');
  return sqlite;
}

/**
 * Rewrites a database, so that its files contain no deleted content. Other writers wait until it is done.
 * @throws OperatorError if the database cannot be read or written, or if other processes lock it for too long
 */
export async function compactFile(file: string, lockTimeoutMs = LOCK_TIMEOUT_MS): Promise<void> {
  await withFile(file, async (sqlite) => {
    const isDone =
      (await vacuum(sqlite, AbortSignal.timeout(lockTimeoutMs))) &&
      (await truncateWal(sqlite, AbortSignal.timeout(lockTimeoutMs)));
    if (!isDone) throw busyError('Other processes used the database for too long.');
  });
}

async function withFile(
  file: string,
  work: (sqlite: Sqlite.Database) => Promise<void>,
  connect: (file: string) => Sqlite.Database = openFile,
): Promise<void> {
  let sqlite: Sqlite.Database | undefined;
  try {
    sqlite = connect(file);
    await work(sqlite);
  } catch (error) {
    throw explainFailure(error, file);
  } finally {
    sqlite?.close();
  }
}
