import cluster from 'node:cluster';
import {
  type Dialect,
  type Driver,
  Kysely,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type TransactionSettings,
} from 'kysely';
import type { Database } from '../engine.ts';
import type { Schema } from '../schema.ts';
import { claimConnection } from '../transaction.ts';
import { CommitGroup } from './commit-group.ts';
import { type SharedResources, SqliteConnection } from './connection.ts';
import { SqliteHandle } from './handle.ts';
import { Turnstile } from './turnstile.ts';
import { type Meter, Mutex, startMeter } from './waiting.ts';

/**
 * Connects Kysely to a SQLite file.
 * @param stopSignal once it is aborted, writes no longer wait for other processes
 * @param temporaryFiles see `openFile`; for writes and read-write transactions
 */
export function connect(
  file: string,
  meter?: Meter,
  stopSignal?: AbortSignal,
  temporaryFiles?: boolean,
): Database {
  return new Kysely<Schema>({ dialect: sqliteDialect(file, meter, stopSignal, temporaryFiles) });
}

/**
 * A Kysely dialect for one SQLite file. Unlike Kysely's own SQLite dialect, it
 * - acquires the write lock when a transaction begins,
 * - waits for a locked file without blocking the event loop,
 * - prepares each statement once, and casts its parameters,
 * - runs reads outside transactions on a separate handle, so that they never wait for a writer.
 */
export function sqliteDialect(
  file: string,
  meter: Meter = startMeter(),
  stopSignal?: AbortSignal,
  temporaryFiles = false,
): Dialect {
  return {
    createAdapter: () => new ConcurrentSqliteAdapter(),
    createDriver: () => new SqliteDriver(file, meter, stopSignal, temporaryFiles),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new TypedParameterCompiler(),
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

/**
 * Casts parameters to the type of their value. Otherwise SQLite plans a cached statement again each time a parameter is
 * bound to a comparison, which takes longer than running most queries.
 */
class TypedParameterCompiler extends SqliteQueryCompiler {
  protected override appendValue(value: unknown): void {
    const type = typeof value === 'string' ? 'TEXT' : Number.isInteger(value) ? 'INTEGER' : null;
    if (type) this.append('CAST(');
    super.appendValue(value);
    if (type) this.append(` AS ${type})`);
  }
}

class SqliteDriver implements Driver {
  readonly #file: string;
  readonly #meter: Meter;
  readonly #stopSignal: AbortSignal | undefined;
  readonly #temporaryFiles: boolean;
  #shared: SharedResources | undefined;

  constructor(
    file: string,
    meter: Meter,
    stopSignal: AbortSignal | undefined,
    temporaryFiles: boolean,
  ) {
    this.#file = file;
    this.#meter = meter;
    this.#stopSignal = stopSignal;
    this.#temporaryFiles = temporaryFiles;
  }

  async init(): Promise<void> {
    const file = this.#file;
    const meter = this.#meter;
    const writer = new SqliteHandle(file, 'read write', meter, this.#temporaryFiles);
    const writeMutex = new Mutex(meter);
    this.#shared = {
      file,
      writer,
      writeMutex,
      commitGroup: new CommitGroup(writer, writeMutex),
      turnstile: cluster.isWorker ? new Turnstile(`${file}-turnstile`) : undefined,
      reader: new SqliteHandle(file, 'read only', meter),
      idleReaders: [],
      meter,
      stopSignal: this.#stopSignal,
    };
  }

  async acquireConnection(): Promise<SqliteConnection> {
    claimConnection();
    if (!this.#shared) throw new Error('The database is closed.');
    return new SqliteConnection(this.#shared);
  }

  async beginTransaction(
    connection: SqliteConnection,
    { accessMode }: TransactionSettings,
  ): Promise<void> {
    if (accessMode === 'read only') connection.beginReadOnly();
    else await connection.beginReadWrite();
  }

  async commitTransaction(connection: SqliteConnection): Promise<void> {
    await connection.commit();
  }

  async rollbackTransaction(connection: SqliteConnection): Promise<void> {
    await connection.rollback();
  }

  /** Does nothing, because a connection acquires resources only for the duration of a query or transaction. */
  async releaseConnection(): Promise<void> {}

  async destroy(): Promise<void> {
    this.#shared?.writer.close();
    this.#shared?.reader.close();
    this.#shared?.turnstile?.close();
    for (const reader of this.#shared?.idleReaders ?? []) reader.close();
    this.#shared = undefined;
  }
}
