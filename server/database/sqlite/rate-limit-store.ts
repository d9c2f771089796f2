import { rmSync, statSync } from 'node:fs';
import Sqlite from 'better-sqlite3';
import { RateLimiterSQLite } from 'rate-limiter-flexible';
import type { RateLimitStore } from '../rate-limit-store.ts';
import { explainFailure, isUnavailable } from './errors.ts';

/** How long to wait for a write of another process. Blocks the event loop. */
const LOCK_TIMEOUT_MS = 100;

/** `user_version` of the file. Older versions wrote keys that can be computed from an email address. */
const FORMAT_VERSION = 1;

/**
 * Opens a SQLite file with one table per counter. Replaces the file if it is damaged or has an older format.
 * @param onReset called after a damaged file has been replaced
 * @throws OperatorError if the file cannot be used
 */
export function openSqliteRateLimitStore(
  file: string,
  onReset: (error: unknown) => void,
): RateLimitStore {
  const counters = new CounterFile(file, onReset);
  const explaining = (work: () => void) => {
    try {
      work();
    } catch (error) {
      throw explainFailure(error, file);
    }
  };
  explaining(() => counters.run(() => {}));

  return {
    async openCounter(name, points, duration) {
      explaining(() => counters.addTable(name));
      return new RateLimiterSQLite({
        storeClient: clientOf(counters),
        storeType: 'better-sqlite3',
        tableName: name,
        tableCreated: true,
        keyPrefix: '',
        points,
        duration,
        // The timer of the library would crash the process on a full disk. `deleteExpired` replaces it.
        clearExpiredByTimeout: false,
      });
    },
    async deleteExpired() {
      for (const table of counters.tables) {
        counters.run((sqlite) =>
          sqlite.prepare(`DELETE FROM ${table} WHERE expire < ?`).run(Date.now()),
        );
      }
    },
    async close() {
      counters.close();
    },
  };
}

/** Returns an adapter with the methods of better-sqlite3 that the library uses. They run on the current file. */
function clientOf(counters: CounterFile) {
  return {
    prepare: (sql: string) => ({
      get: (...values: unknown[]) => counters.run((sqlite) => sqlite.prepare(sql).get(...values)),
      run: (...values: unknown[]) => counters.run((sqlite) => sqlite.prepare(sql).run(...values)),
    }),
    // The library runs one statement in each transaction, and a single statement is atomic.
    transaction: (work: () => unknown) => work,
  };
}

/** A file that several processes share, and that any of them may replace. */
class CounterFile {
  readonly tables: string[] = [];
  readonly #file: string;
  readonly #onReset: (error: unknown) => void;
  #sqlite: Sqlite.Database | undefined;
  /** The inode of the open file. */
  #inode: number | undefined;

  constructor(file: string, onReset: (error: unknown) => void) {
    this.#file = file;
    this.#onReset = onReset;
  }

  addTable(name: string): void {
    this.tables.push(name);
    this.run((sqlite) => createTable(sqlite, name));
  }

  /** Runs `work` on the file. If the file is damaged, runs it again on a new file. */
  run<T>(work: (sqlite: Sqlite.Database) => T): T {
    try {
      return work(this.#open());
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.#remove();
      const result = work(this.#open());
      this.#onReset(error);
      return result;
    }
  }

  close(): void {
    this.#sqlite?.close();
    this.#sqlite = undefined;
  }

  #open(): Sqlite.Database {
    // Another process may have replaced the file.
    if (this.#sqlite && this.#inode === inodeOf(this.#file)) return this.#sqlite;
    this.close();
    try {
      return this.#prepare(this.#connect());
    } catch (error) {
      // Otherwise, the next call would use this connection, although the file may still lack its tables. For example,
      // `#prepare` fails before it creates them if another process has locked the file.
      this.close();
      throw error;
    }
  }

  #prepare(connected: Sqlite.Database): Sqlite.Database {
    let sqlite = connected;
    if (hasOlderFormat(sqlite)) {
      this.#remove();
      sqlite = this.#connect();
    }
    sqlite.pragma('journal_mode = WAL');
    // Losing the latest counts in a power failure is harmless.
    sqlite.pragma('synchronous = OFF');
    sqlite.pragma(`user_version = ${FORMAT_VERSION}`);
    for (const table of this.tables) createTable(sqlite, table);
    return sqlite;
  }

  #connect(): Sqlite.Database {
    this.#sqlite = new Sqlite(this.#file, { timeout: LOCK_TIMEOUT_MS });
    this.#inode = inodeOf(this.#file);
    return this.#sqlite;
  }

  /** Closes and removes the file, unless another process has already replaced it. */
  #remove(): void {
    this.close();
    if (this.#inode !== inodeOf(this.#file)) return;
    for (const suffix of ['', '-wal', '-shm']) rmSync(`${this.#file}${suffix}`, { force: true });
  }
}

function hasOlderFormat(sqlite: Sqlite.Database): boolean {
  const version = sqlite.pragma('user_version', { simple: true }) as number;
  const tables = sqlite.prepare('SELECT count(*) FROM sqlite_schema').pluck().get() as number;
  return tables > 0 && version < FORMAT_VERSION;
}

function createTable(sqlite: Sqlite.Database, name: string): void {
  sqlite.exec(
    `CREATE TABLE IF NOT EXISTS ${name} (
      key TEXT PRIMARY KEY,
      points INTEGER NOT NULL,
      expire INTEGER
    )`,
  );
}

/** Whether an error means that the file no longer has the content that `CounterFile` wrote. */
function isDamage(error: unknown): boolean {
  if (!(error instanceof Sqlite.SqliteError)) return false;
  return error.code === 'SQLITE_IOERR_SHORT_READ' || !isUnavailable(error);
}

/** Returns undefined for a missing file. */
function inodeOf(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.ino;
}
