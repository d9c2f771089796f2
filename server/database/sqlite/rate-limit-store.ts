import Sqlite from 'better-sqlite3';
import { RateLimiterSQLite } from 'rate-limiter-flexible';
import type { RateLimitStore } from '../rate-limit-store.ts';

/** How long to wait for a write of another process. Blocks the event loop. */
const LOCK_TIMEOUT_MS = 100;

/** Opens a SQLite file with one table per counter. */
export function openSqliteRateLimitStore(file: string): RateLimitStore {
  const sqlite = new Sqlite(file, { timeout: LOCK_TIMEOUT_MS });
  sqlite.pragma('journal_mode = WAL');
  // Losing the latest counts in a power failure is harmless.
  sqlite.pragma('synchronous = OFF');
  const tables: string[] = [];

  return {
    openCounter: (name, points, duration) =>
      new Promise((resolve, reject) => {
        tables.push(name);
        const counter: RateLimiterSQLite = new RateLimiterSQLite(
          {
            storeClient: sqlite,
            storeType: 'better-sqlite3',
            tableName: name,
            keyPrefix: '',
            points,
            duration,
            // The timer of the library would crash the process on a full disk. `deleteExpired` replaces it.
            clearExpiredByTimeout: false,
          },
          // The library may call this before its constructor returns.
          (error?: Error) => (error ? reject(error) : setImmediate(() => resolve(counter))),
        );
      }),
    deleteExpired() {
      for (const table of tables) {
        sqlite.prepare(`DELETE FROM ${table} WHERE expire < ?`).run(Date.now());
      }
    },
    close: () => sqlite.close(),
  };
}
