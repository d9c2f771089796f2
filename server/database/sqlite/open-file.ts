import Sqlite from 'better-sqlite3';
import { isBusy } from './errors.ts';

/** Older versions can lose committed data in WAL mode: https://sqlite.org/wal.html#walresetbug */
const MIN_SQLITE_VERSION = '3.51.3';

/** How long to wait for other processes that open or create the file at the same time. Blocks the event loop. */
export const OPEN_TIMEOUT_MS = 10_000;

const CACHE_KIB = 8_192;

/**
 * At this size of the write-ahead log, a commit runs a checkpoint, which blocks the thread. Maintenance runs
 * checkpoints far earlier, so this limit matters only if no process runs maintenance.
 */
const AUTOCHECKPOINT_PAGES = 10_000;

/** After a checkpoint of a larger log, such as that of an import, the next write truncates it to this size. */
const MAX_WAL_BYTES = 8 * 2 ** 20;

/** Runs `work` on a file with SQLite's own settings, so that opening the file does not change it. */
export function withPlainConnection<T>(file: string, work: (sqlite: Sqlite.Database) => T): T {
  const sqlite = new Sqlite(file, { timeout: OPEN_TIMEOUT_MS });
  try {
    return work(sqlite);
  } finally {
    sqlite.close();
  }
}

/**
 * Opens a database file for reading and writing. Creates it if it is missing. Commits are durable, and deleted content
 * is overwritten with zeros. Statements fail immediately if the file is locked, because waiting inside SQLite would
 * block the event loop.
 * @param temporaryFiles whether SQLite sorts in files instead of memory. The index of a million rows fills the memory.
 * @throws SqliteError if the file cannot be opened
 */
export function openFile(file: string, temporaryFiles = false): Sqlite.Database {
  using opened = new DisposableStack();
  const sqlite = opened.adopt(new Sqlite(file, { timeout: OPEN_TIMEOUT_MS }), (db) => db.close());
  const version = sqlite.prepare('SELECT sqlite_version()').pluck().get() as string;
  if (version.localeCompare(MIN_SQLITE_VERSION, 'en', { numeric: true }) < 0) {
    throw new Error(`SQLite ${version} is too old. Version ${MIN_SQLITE_VERSION} is required.`);
  }
  switchToWal(sqlite, OPEN_TIMEOUT_MS);
  // Explicit, because better-sqlite3 is compiled with NORMAL as the default of WAL mode, and switches to it at the
  // first write.
  sqlite.pragma('synchronous = FULL');
  sqlite.pragma('foreign_keys = ON');
  sqlite.pragma('secure_delete = ON');
  sqlite.pragma(`cache_size = -${CACHE_KIB}`);
  sqlite.pragma(`temp_store = ${temporaryFiles ? 'FILE' : 'MEMORY'}`);
  sqlite.pragma(`wal_autocheckpoint = ${AUTOCHECKPOINT_PAGES}`);
  sqlite.pragma(`journal_size_limit = ${MAX_WAL_BYTES}`);
  // Last, because creating the file and changing its journal mode still need the timeout.
  sqlite.pragma('busy_timeout = 0');
  // From now on, the caller closes it.
  opened.move();
  return sqlite;
}

/**
 * Switches a file to WAL mode. Waits for other processes that switch it at the same time. The pragma itself does not
 * wait, because SQLite never waits to upgrade a read lock.
 * @param timeoutMs the `busy_timeout` of the connection. Blocks the event loop at most twice as long.
 */
export function switchToWal(sqlite: Sqlite.Database, timeoutMs: number): void {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    try {
      sqlite.pragma('journal_mode = WAL');
      return;
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error;
      // Waits until the other process has released the write lock.
      sqlite.exec('BEGIN IMMEDIATE; ROLLBACK');
    }
  }
}
