import type { Socket } from 'node:net';
import type { PostgresPoolClient } from 'kysely';
import type pg from 'pg';
import type { Database } from '../../engine.ts';
import { onConnection } from '../../transaction.ts';
import { connect } from '../dialect.ts';
import { openPool } from '../pool.ts';
import { BusyReplicaError, UnusableReplicaError } from './errors.ts';

/** Maximum per process. A read holds one connection until it ends. */
const MAX_CONNECTIONS = 10;

/** Maximum time of a read on the replica, including the wait for a connection. */
const READ_TIMEOUT_MS = 1_000;

/** If a read has waited longer than this for a connection and then takes too long, the connections were busy. */
const BUSY_WAIT_MS = 100;

/** A statement outlives its connection, which this service closes at READ_TIMEOUT_MS. The replica cancels it later. */
const STATEMENT_TIMEOUT_MS = 2_000;

/** Sent together to save a round trip. The SELECT takes the snapshot of the transaction. */
const BEGIN_AND_READ_STATE = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
  SELECT value AS revision, pg_is_in_recovery() AS "isStandby" FROM search_revision`;

export interface SnapshotState {
  revision: number;
  isStandby: boolean;
}

/** A pool of connections to a replica. Each read has a snapshot and a time limit. */
export class ReplicaConnections {
  readonly #pool: pg.Pool;
  readonly #sockets = new Set<Socket>();
  readonly #databases = new WeakMap<pg.PoolClient, Database>();

  constructor(url: string) {
    this.#pool = openPool(url, {
      applicationName: 'space-service search',
      maxConnections: MAX_CONNECTIONS,
      connectTimeoutMs: READ_TIMEOUT_MS,
      statementTimeoutMs: STATEMENT_TIMEOUT_MS,
      // `readSnapshot` has its own timeout.
      responseTimeoutMs: 0,
    });
    this.#pool.on('connect', (client) => {
      const socket = socketOf(client);
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
  }

  /**
   * Runs `work` on a snapshot.
   * @throws UnusableReplicaError or BusyReplicaError if it takes longer than a second; the pool's timeout error if no
   *   connection becomes free in that time
   */
  async readSnapshot<T>(
    work: (snapshot: Database, state: SnapshotState) => Promise<T>,
  ): Promise<T> {
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
      throw isLate ? timeoutError(waitMs, error) : error;
    }
  }

  /** Closes all connections immediately, so that pending reads fail. Later reads open new connections. */
  reset(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    // Not closed gracefully, because a replica that hangs would not respond.
    this.reset();
    // A second call of `end` would reject.
    if (!this.#pool.ending) await this.#pool.end();
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
}

async function begin(client: pg.PoolClient): Promise<SnapshotState> {
  // For several statements, `pg` returns an array of results, which its types lack.
  const [, result] = (await client.query(BEGIN_AND_READ_STATE)) as unknown as pg.QueryResult[];
  return result?.rows[0];
}

function timeoutError(waitMs: number, cause: unknown): Error {
  // After a long wait, the connections were busy, and the replica need not be slow.
  const message = `The server of DATABASE_READ_URL did not respond within ${READ_TIMEOUT_MS} ms.`;
  return waitMs > BUSY_WAIT_MS
    ? new BusyReplicaError(message, { cause })
    : new UnusableReplicaError(message, { cause });
}

function socketOf(client: pg.PoolClient): Socket {
  return client.connection.stream as Socket;
}
