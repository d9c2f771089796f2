import {
  type Dialect,
  Kysely,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import type { Database } from '../engine.ts';
import type { Schema } from '../schema.ts';
import { SqliteDriver } from './driver.ts';
import { type Meter, startMeter } from './meter.ts';

/**
 * Connects Kysely to a SQLite file.
 * @param stopSignal once it is aborted, writes no longer wait for other processes
 */
export function connect(file: string, meter?: Meter, stopSignal?: AbortSignal): Database {
  return new Kysely<Schema>({ dialect: sqliteDialect(file, meter, stopSignal) });
}

/**
 * A Kysely dialect for one SQLite file. Unlike Kysely's own SQLite dialect, it
 * - acquires the write lock when a transaction begins,
 * - waits for a locked file without blocking the event loop,
 * - prepares each statement once,
 * - runs reads outside transactions on a separate handle, so that they never wait for a writer.
 */
export function sqliteDialect(
  file: string,
  meter: Meter = startMeter(),
  stopSignal?: AbortSignal,
): Dialect {
  return {
    createAdapter: () => new ConcurrentSqliteAdapter(),
    createDriver: () => new SqliteDriver(file, meter, stopSignal),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  };
}

class ConcurrentSqliteAdapter extends SqliteAdapter {
  /** Otherwise Kysely runs only one query or transaction at a time. */
  override get supportsMultipleConnections(): boolean {
    return true;
  }

  /** Otherwise Kysely runs migrations without a transaction, and an interrupted migration is applied partially. */
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}
