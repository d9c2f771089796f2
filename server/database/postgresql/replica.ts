import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { type PostgresPoolClient, sql } from 'kysely';
import type pg from 'pg';
import { OperatorError, withoutPassword } from '../../errors.ts';
import type { Database, ReplicaReads } from '../engine.ts';
import { onConnection } from '../transaction.ts';
import { connect } from './dialect.ts';
import { isConflict, isDenied, isMissingSchema, isPoolExhausted, isUnavailable } from './errors.ts';
import { openPool } from './pool.ts';

/** Maximum per process. A read holds one connection until it ends. */
const MAX_CONNECTIONS = 10;

/** Maximum time of a read on the replica, including the wait for a connection. */
const READ_TIMEOUT_MS = 1_000;

/** A read that has waited longer for a connection and then takes too long does not make the replica unusable. */
const MAX_WAIT_MS = 100;

/** The replica cancels a statement by itself after this service has closed the connection at READ_TIMEOUT_MS. */
const STATEMENT_TIMEOUT_MS = 2_000;

const CHECK_INTERVAL_MS = 1_000;

/** At the start, how long the replica may take to replay migrations that the primary has just applied. */
const STARTUP_TIMEOUT_MS = 5_000;
const STARTUP_CHECK_INTERVAL_MS = 200;

/** How often, and at which intervals, a check reads a primary that seems to be behind its replica. */
const MAX_PRIMARY_READS = 10;
const PRIMARY_READ_INTERVAL_MS = 50;

/** Sent together to save a round trip. The SELECT takes the snapshot of the transaction. */
const BEGIN_AND_READ_STATE = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
  SELECT value AS revision, pg_is_in_recovery() AS "isStandby" FROM search_revision`;

interface SnapshotState {
  revision: number;
  isStandby: boolean;
}

/** Identifies a state of the service's database. */
interface DatabaseState {
  /** Different for each database, and the same on its replicas. */
  cursorKey: Buffer;
  migrations: string[];
  revision: number;
  /** The transaction that wrote the revision. */
  transaction: string;
}

/** The replica lacks migrations of the primary. */
class OutdatedReplicaError extends OperatorError {}

/** The replica does not respond in time, is not a standby, or its rows may differ from those of the primary. */
class UnusableReplicaError extends Error {}

/** The replica cannot be compared with the primary, which cannot be read. Requests report that, too. */
class PrimaryError extends Error {}

/** A read did not get enough time, because others held all connections. */
class BusyReplicaError extends Error {}

export interface ReplicaOptions {
  url: string;
  /** The database that the replica must be a standby of. */
  primary: Database;
  /** Called when the replica becomes unusable: once, until it is usable again. */
  onUnusable: (cause: unknown) => void;
  /** Called when it is usable again, after `onUnusable`. */
  onUsable: () => void;
}

/**
 * A PostgreSQL standby for reads that must be current. It is checked every second, and used only while the checks
 * succeed. If it fails, a read runs on the primary, after at most a second.
 */
export class Replica {
  readonly #url: string;
  readonly #primary: Database;
  readonly #onUnusable: (cause: unknown) => void;
  readonly #onUsable: () => void;
  readonly #pool: pg.Pool;
  readonly #sockets = new Set<Socket>();
  readonly #databases = new WeakMap<pg.PoolClient, Database>();
  readonly #reads: ReplicaReads = { replica: 0, behind: 0, failed: 0 };
  readonly #stopping = new AbortController();
  #isUsable = false;
  #isReported = false;

  private constructor({ url, primary, onUnusable, onUsable }: ReplicaOptions) {
    this.#url = url;
    this.#primary = primary;
    this.#onUnusable = onUnusable;
    this.#onUsable = onUsable;
    this.#pool = openPool(url, {
      applicationName: 'space-service search',
      maxConnections: MAX_CONNECTIONS,
      connectTimeoutMs: READ_TIMEOUT_MS,
      statementTimeoutMs: STATEMENT_TIMEOUT_MS,
      // `#onSnapshot` has its own timeout.
      responseTimeoutMs: 0,
    });
    this.#pool.on('connect', (client) => {
      const socket = socketOf(client);
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
  }

  /**
   * Opens a replica. Waits some seconds if it lacks migrations that it may be about to replay. A replica that cannot be
   * reached is used later, after its first successful check.
   * @throws OperatorError if it belongs to another database, lacks migrations or rejects the login
   */
  static async open(options: ReplicaOptions): Promise<Replica> {
    const replica = new Replica(options);
    try {
      await replica.#checkAtStartup();
    } catch (error) {
      await replica.close();
      throw error;
    }
    void replica.#checkRegularly();
    return replica;
  }

  get reads(): Readonly<ReplicaReads> {
    return this.#reads;
  }

  /** Number of reads that are waiting for a connection now. */
  get waitingCount(): number {
    return this.#pool.waitingCount;
  }

  /** See `Engine.readOnReplica`. */
  async read<T>(minRevision: number, read: (db: Database) => Promise<T>): Promise<T> {
    const outcome = await this.#tryRead(minRevision, read);
    if (typeof outcome === 'object') {
      this.#reads.replica += 1;
      return outcome.result;
    }
    this.#reads[outcome] += 1;
    return read(this.#primary);
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    // Not closed gracefully, because a replica that hangs would not respond.
    this.#closeConnections();
    await this.#pool.end();
  }

  async #tryRead<T>(
    minRevision: number,
    read: (db: Database) => Promise<T>,
  ): Promise<{ result: T } | 'behind' | 'failed'> {
    if (!this.#isUsable) return 'failed';
    try {
      return await this.#onSnapshot(async (snapshot, { isStandby, revision }) => {
        // A promoted standby can have changes that the primary lacks.
        if (!isStandby) throw notStandby();
        return revision < minRevision ? 'behind' : { result: await read(snapshot) };
      });
    } catch (error) {
      if (isConflict(error) || isBusy(error)) return 'failed';
      if (!isTemporary(error)) throw error;
      this.#stopUsing(error);
      return 'failed';
    }
  }

  async #onSnapshot<T>(work: (snapshot: Database, state: SnapshotState) => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    const client = await this.#pool.connect();
    const waitMs = performance.now() - startedAt;
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      socketOf(client).destroy();
    }, READ_TIMEOUT_MS - waitMs);
    const release = (isBroken: boolean) => {
      clearTimeout(timer);
      client.release(isBroken);
    };
    try {
      const state = await begin(client);
      const result = await onConnection(this.#databaseOf(client), (snapshot) =>
        work(snapshot, state),
      );
      // Not awaited, so that the result is returned without another round trip.
      client.query('COMMIT').then(
        () => release(false),
        () => release(true),
      );
      return result;
    } catch (error) {
      release(true);
      if (!isLate) throw error;
      // After a long wait, the connections were busy, and the replica need not be slow.
      throw waitMs > MAX_WAIT_MS
        ? new BusyReplicaError(undefined, { cause: error })
        : tooSlow(error);
    }
  }

  /** Returns a database that uses only this connection. */
  #databaseOf(client: pg.PoolClient): Database {
    const existing = this.#databases.get(client);
    if (existing) return existing;
    const borrowed: PostgresPoolClient = { query: client.query.bind(client), release() {} };
    const database = connect({
      connect: async () => borrowed,
      async end() {},
      options: this.#pool.options,
    });
    this.#databases.set(client, database);
    return database;
  }

  #stopUsing(cause: unknown): void {
    this.#isUsable = false;
    // Pending reads must not wait for their own timeouts, and later ones must not find a connection that hangs.
    this.#closeConnections();
    const isReported = this.#isReported || cause instanceof PrimaryError;
    if (isReported || this.#stopping.signal.aborted) return;
    this.#isReported = true;
    this.#onUnusable(cause);
  }

  #closeConnections(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async #checkAtStartup(): Promise<void> {
    const startedAt = performance.now();
    for (;;) {
      try {
        await this.#check();
        return;
      } catch (error) {
        if (!(error instanceof OperatorError)) {
          if (!isTemporary(error)) throw error;
          this.#stopUsing(error);
          return;
        }
        const mayWait = performance.now() - startedAt < STARTUP_TIMEOUT_MS;
        if (!(error instanceof OutdatedReplicaError && mayWait)) throw error;
      }
      await sleep(STARTUP_CHECK_INTERVAL_MS);
    }
  }

  async #checkRegularly(): Promise<void> {
    while (await this.#pause(CHECK_INTERVAL_MS)) {
      try {
        await this.#check();
      } catch (error) {
        // All connections are busy because of many reads.
        if (this.#isUsable && isBusy(error)) continue;
        this.#stopUsing(error);
      }
    }
  }

  /** Returns false if the replica is closed. */
  async #pause(milliseconds: number): Promise<boolean> {
    try {
      await sleep(milliseconds, undefined, { ref: false, signal: this.#stopping.signal });
      return true;
    } catch {
      return false;
    }
  }

  /**
   * Checks that the replica has the identity, the migrations and the history of the primary.
   * @throws OperatorError if the operator must fix the settings or the standby
   */
  async #check(): Promise<void> {
    const { isStandby, ...replica } = await this.#readReplicaState();
    let primary = await this.#readPrimaryState();
    if (!replica.cursorKey.equals(primary.cursorKey)) {
      throw new OperatorError(
        `${this.#name} belongs to another database than DATABASE_URL. Use the URL of a standby of DATABASE_URL.`,
      );
    }
    if (!isDeepStrictEqual(primary.migrations, replica.migrations)) {
      throw this.#outdated();
    }
    if (!isStandby) throw notStandby();
    // With synchronous replication, a replica can show a commit shortly before the primary does.
    for (let i = 1; primary.revision < replica.revision && i < MAX_PRIMARY_READS; i += 1) {
      await sleep(PRIMARY_READ_INTERVAL_MS);
      primary = await this.#readPrimaryState();
    }
    const isSameRevision = primary.revision === replica.revision;
    if (
      primary.revision < replica.revision ||
      (isSameRevision && primary.transaction !== replica.transaction)
    ) {
      throw new UnusableReplicaError(
        'The server of DATABASE_READ_URL has changes that DATABASE_URL lacks, for example because a failover lost them.',
      );
    }
    this.#isUsable = true;
    if (this.#isReported) this.#onUsable();
    this.#isReported = false;
  }

  async #readReplicaState(): Promise<DatabaseState & SnapshotState> {
    try {
      return await this.#onSnapshot(async (snapshot, { isStandby }) => {
        const state = await readState(snapshot);
        return { ...state, isStandby };
      });
    } catch (error) {
      if (isMissingSchema(error)) throw this.#outdated(error);
      if (!isDenied(error)) throw error;
      throw new OperatorError(
        `${this.#name} rejects the user name or the password, or does not allow the user to read the tables.`,
        { cause: error },
      );
    }
  }

  async #readPrimaryState(): Promise<DatabaseState> {
    try {
      return await readState(this.#primary);
    } catch (cause) {
      throw isUnavailable(cause) ? new PrimaryError(undefined, { cause }) : cause;
    }
  }

  get #name(): string {
    return `DATABASE_READ_URL=${withoutPassword(this.#url)}`;
  }

  #outdated(cause?: unknown): OutdatedReplicaError {
    return new OutdatedReplicaError(
      `${this.#name} does not have the tables and migrations of DATABASE_URL. Check that it is a standby of that database, and that it is not far behind.`,
      { cause },
    );
  }
}

/** Whether the replica may become usable again without a change of the settings. */
function isTemporary(error: unknown): boolean {
  return (
    isUnavailable(error) ||
    isDenied(error) ||
    error instanceof UnusableReplicaError ||
    error instanceof PrimaryError
  );
}

function notStandby(): UnusableReplicaError {
  return new UnusableReplicaError('The server of DATABASE_READ_URL is not a standby.');
}

/** Returns whether a read found too many others. */
function isBusy(error: unknown): boolean {
  if (error instanceof PrimaryError) return isBusy(error.cause);
  return isPoolExhausted(error) || error instanceof BusyReplicaError;
}

function tooSlow(cause: unknown): UnusableReplicaError {
  return new UnusableReplicaError(
    `The server of DATABASE_READ_URL did not respond within ${READ_TIMEOUT_MS} ms.`,
    { cause },
  );
}

async function begin(client: pg.PoolClient): Promise<SnapshotState> {
  // For several statements, `pg` returns an array of results, which its types lack.
  const [, result] = (await client.query(BEGIN_AND_READ_STATE)) as unknown as pg.QueryResult[];
  return result?.rows[0];
}

async function readState(db: Database): Promise<DatabaseState> {
  const { rows } = await sql<DatabaseState>`
    SELECT
      (SELECT value FROM secrets WHERE name = 'cursor key') AS "cursorKey",
      (SELECT array_agg(name ORDER BY name) FROM kysely_migration) AS migrations,
      search_revision.value AS revision,
      search_revision.xmin::text AS transaction
    FROM search_revision`.execute(db);
  return rows[0] as DatabaseState;
}

function socketOf(client: pg.PoolClient): Socket {
  return client.connection.stream as Socket;
}
