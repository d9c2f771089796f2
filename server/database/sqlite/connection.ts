import { setImmediate as loopTurn, setTimeout as sleep } from 'node:timers/promises';
import Sqlite from 'better-sqlite3';
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type TransactionSettings,
} from 'kysely';
import { refuseInsideTransaction } from '../transaction.ts';
import { busy, isBusy } from './errors.ts';
import { type Meter, startMeter } from './meter.ts';

/** How long a writer waits for its turn before the service says that it is unavailable, in milliseconds. */
const WRITER_PATIENCE = 30_000;

/** How long a transaction may go on, in milliseconds, before other requests come in between its statements. */
const MOST_AT_ONCE = 0.2;

/** Versions before this one can lose committed data in WAL mode. */
const OLDEST_SQLITE = '3.51.3';

/** Opens a database file for reading and writing, durable and leaving no deleted bytes behind. */
export function openFile(file: string): Sqlite.Database {
  // Two who open a new file at once wait for each other.
  const handle = new Sqlite(file, { timeout: 2_000 });
  handle.pragma('journal_mode = WAL');
  handle.pragma('synchronous = FULL');
  handle.pragma('foreign_keys = ON');
  handle.pragma('secure_delete = ON');
  handle.pragma('cache_size = -8192');
  handle.pragma('temp_store = MEMORY');
  // A commit that copies the log into the file holds up its whole thread. Maintenance does it long before this.
  handle.pragma('wal_autocheckpoint = 10000');
  const version = handle.prepare('SELECT sqlite_version()').pluck().get() as string;
  if (version.localeCompare(OLDEST_SQLITE, 'en', { numeric: true }) < 0) {
    throw new Error(`SQLite ${version} is too old: ${OLDEST_SQLITE} or newer is needed.`);
  }
  // From here on, waiting for a lock inside SQLite would block the event loop, so the driver waits instead.
  handle.pragma('busy_timeout = 0');
  return handle;
}

/**
 * Kysely on one SQLite file, with what Kysely's own SQLite driver lacks: transactions take the write lock when
 * they begin, a busy file is waited for without blocking the event loop, statements are prepared once, and
 * reads outside transactions have a handle of their own, so that they never wait for a writer.
 */
export function sqliteDialect(file: string, meter = startMeter()): Dialect {
  return {
    createAdapter: () => new Adapter(),
    createDriver: () => new SqliteDriver(file, meter),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  };
}

class Adapter extends SqliteAdapter {
  /** Without this, Kysely would have everybody wait for whoever holds the one connection that it assumes. */
  override get supportsMultipleConnections(): boolean {
    return true;
  }

  /** Without this, a migration that is interrupted would have been made by half. */
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

class SqliteDriver implements Driver {
  readonly #file: string;
  #writer: Handle | undefined;
  #reader: Handle | undefined;
  readonly #meter: Meter;
  readonly #turn: Turn;

  constructor(file: string, meter: Meter) {
    this.#file = file;
    this.#meter = meter;
    this.#turn = new Turn(meter);
  }

  async init(): Promise<void> {
    this.#writer = new Handle(openFile(this.#file), this.#meter);
    this.#reader = new Handle(openFile(this.#file), this.#meter);
    this.#reader.sqlite.pragma('query_only = ON');
  }

  async acquireConnection(): Promise<SqliteConnection> {
    refuseInsideTransaction();
    if (!this.#writer || !this.#reader) throw new Error('The database is closed.');
    return new SqliteConnection(this.#file, this.#writer, this.#reader, this.#meter, this.#turn);
  }

  async beginTransaction(
    connection: SqliteConnection,
    settings: TransactionSettings,
  ): Promise<void> {
    if (settings.accessMode === 'read only') connection.beginReading();
    else await connection.begin();
  }

  async commitTransaction(connection: SqliteConnection): Promise<void> {
    connection.commit();
  }

  async rollbackTransaction(connection: SqliteConnection): Promise<void> {
    connection.rollback();
  }

  async releaseConnection(): Promise<void> {}

  async destroy(): Promise<void> {
    this.#writer?.sqlite.close();
    this.#reader?.sqlite.close();
    this.#writer = undefined;
    this.#reader = undefined;
  }
}

class SqliteConnection implements DatabaseConnection {
  readonly #file: string;
  readonly #writer: Handle;
  readonly #reader: Handle;
  readonly #meter: Meter;
  readonly #turn: Turn;
  /** The handle of the transaction that this connection is in. */
  #transaction: Handle | undefined;
  /** When the transaction last took the event loop. */
  #resumed = performance.now();

  constructor(file: string, writer: Handle, reader: Handle, meter: Meter, turn: Turn) {
    this.#file = file;
    this.#writer = writer;
    this.#reader = reader;
    this.#meter = meter;
    this.#turn = turn;
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    if (this.#transaction) {
      // Writers that wait already would wait for the event loop, too, which takes its time when there is much to do.
      if (performance.now() - this.#resumed > MOST_AT_ONCE && !this.#turn.isAwaited) {
        await loopTurn();
        this.#resumed = performance.now();
      }
      return this.#transaction.execute(query);
    }
    if (this.#reader.reads(query.sql)) return this.#reader.execute(query);
    const deadline = performance.now() + WRITER_PATIENCE;
    await this.#turn.take(deadline);
    try {
      return await whileBusy(() => this.#writer.execute<R>(query), deadline, this.#meter);
    } finally {
      this.#turn.give();
    }
  }

  async *streamQuery<R>(query: CompiledQuery): AsyncIterableIterator<QueryResult<R>> {
    for (const row of (this.#transaction ?? this.#reader).iterate<R>(query)) yield { rows: [row] };
  }

  async begin(): Promise<void> {
    const deadline = performance.now() + WRITER_PATIENCE;
    await this.#turn.take(deadline);
    try {
      await whileBusy(() => this.#writer.exec('BEGIN IMMEDIATE'), deadline, this.#meter);
    } catch (error) {
      this.#turn.give();
      throw error;
    }
    this.#transaction = this.#writer;
    this.#resumed = performance.now();
  }

  /** Begins a transaction that only reads, on a handle of its own: it may last, and nobody waits for it. */
  beginReading(): void {
    this.#transaction = new Handle(openFile(this.#file), this.#meter);
    this.#transaction.sqlite.pragma('query_only = ON');
    this.#transaction.exec('BEGIN');
  }

  commit(): void {
    this.#transaction?.exec('COMMIT');
    this.#end();
  }

  rollback(): void {
    // SQLite has already rolled back after some errors, a full disk among them.
    if (this.#transaction?.sqlite.inTransaction) this.#transaction.exec('ROLLBACK');
    this.#end();
  }

  #end(): void {
    if (this.#transaction === this.#writer) this.#turn.give();
    else this.#transaction?.sqlite.close();
    this.#transaction = undefined;
  }
}

/** A SQLite handle and the statements prepared on it. */
class Handle {
  readonly sqlite: Sqlite.Database;
  readonly #meter: Meter;
  readonly #statements = new Map<string, Sqlite.Statement>();

  constructor(sqlite: Sqlite.Database, meter: Meter) {
    this.sqlite = sqlite;
    this.#meter = meter;
  }

  reads(sql: string): boolean {
    return this.#prepare(sql).readonly;
  }

  exec(sql: string): void {
    this.#meter.busy(() => this.sqlite.exec(sql));
  }

  async execute<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const statement = this.#prepare(query.sql);
    return this.#meter.busy(() => {
      if (statement.reader) return { rows: statement.all(query.parameters) as R[] };
      const { changes, lastInsertRowid } = statement.run(query.parameters);
      return { rows: [], insertId: BigInt(lastInsertRowid), numAffectedRows: BigInt(changes) };
    });
  }

  /** Rows one by one, on a statement of its own: a shared one would be busy until the last row. */
  iterate<R>(query: CompiledQuery): IterableIterator<R> {
    return this.sqlite.prepare(query.sql).iterate(query.parameters) as IterableIterator<R>;
  }

  #prepare(sql: string): Sqlite.Statement {
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = this.sqlite.prepare(sql);
      // Queries with lists of values have a text for each length: bounded, lest they pile up.
      if (this.#statements.size >= 500) this.#statements.clear();
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

/** Lets one writer of this process at a time go to the file, in the order of asking. */
class Turn {
  #taken = false;
  readonly #meter: Meter;
  readonly #waiting = new Set<() => void>();

  constructor(meter: Meter) {
    this.#meter = meter;
  }

  /** @throws an error that says that the database is busy, after the deadline, as of `performance.now()` */
  async take(deadline: number): Promise<void> {
    if (this.#taken) await this.#meter.wait(this.#queue(deadline));
    this.#taken = true;
  }

  #queue(deadline: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const begin = () => {
        clearTimeout(timer);
        resolve();
      };
      const giveUp = () => {
        this.#waiting.delete(begin);
        reject(busy());
      };
      const timer = setTimeout(giveUp, deadline - performance.now());
      this.#waiting.add(begin);
    });
  }

  /** Whether a writer waits for it. */
  get isAwaited(): boolean {
    return this.#waiting.size > 0;
  }

  give(): void {
    const [next] = this.#waiting;
    if (next) {
      this.#waiting.delete(next);
      next();
    } else this.#taken = false;
  }
}

/** Tries again while another process or thread holds the write lock, until the deadline. */
async function whileBusy<T>(attempt: () => T, deadline: number, meter: Meter): Promise<Awaited<T>> {
  for (let pause = 1; ; pause = Math.min(pause * 2, 50)) {
    try {
      return await attempt();
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error;
      await meter.wait(sleep(pause * (0.5 + Math.random())));
    }
  }
}
