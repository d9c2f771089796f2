import type { Driver, TransactionSettings } from 'kysely';
import { claimConnection } from '../transaction.ts';
import { type SharedResources, SqliteConnection } from './connection.ts';
import { SqliteHandle } from './handle.ts';
import type { Meter } from './meter.ts';
import { Mutex } from './mutex.ts';

export class SqliteDriver implements Driver {
  readonly #file: string;
  readonly #meter: Meter;
  readonly #stopSignal: AbortSignal | undefined;
  #shared: SharedResources | undefined;

  constructor(file: string, meter: Meter, stopSignal: AbortSignal | undefined) {
    this.#file = file;
    this.#meter = meter;
    this.#stopSignal = stopSignal;
  }

  async init(): Promise<void> {
    const file = this.#file;
    const meter = this.#meter;
    this.#shared = {
      file,
      writer: new SqliteHandle(file, 'read write', meter),
      writeMutex: new Mutex(meter),
      reader: new SqliteHandle(file, 'read only', meter),
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
    connection.commit();
  }

  async rollbackTransaction(connection: SqliteConnection): Promise<void> {
    connection.rollback();
  }

  /** Does nothing, because a connection acquires resources only for the duration of a query or transaction. */
  async releaseConnection(): Promise<void> {}

  async destroy(): Promise<void> {
    this.#shared?.writer.close();
    this.#shared?.reader.close();
    this.#shared = undefined;
  }
}
