import { Socket } from 'node:net';
import pg from 'pg';
import { type Limiter, limitConcurrency } from '../../system/concurrency.ts';
import type { StopDeadline } from '../kind.ts';
import { isRefusedByStandby, READ_ONLY } from './errors.ts';
import { NamingClient } from './naming-client.ts';

/** Maximum per process, for requests. A transaction, or a query outside one, holds a connection until it ends. */
const MAX_CONNECTIONS = 10;

/**
 * Maximum for the requests of one network while others are active. PostgreSQL runs what it has received at the same
 * time, so with all connections, one network would slow down every query of the others.
 */
const MAX_CONNECTIONS_BESIDE_OTHERS = 3;

const MAX_WAITING_FOR_CONNECTION = 1_000;

const CONNECT_TIMEOUT_MS = 5_000;

/** Longer than any statement of a request should run. Commands, migrations and maintenance have no such timeout. */
const STATEMENT_TIMEOUT_MS = 30_000;

/** Longer than the statement timeout, which PostgreSQL reports itself unless it hangs or cannot be reached. */
export const RESPONSE_TIMEOUT_MS = STATEMENT_TIMEOUT_MS + 2_000;

/** A process that hangs in a transaction must not hold its locks for longer. */
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 30_000;

/**
 * All queries of requests have an index. A sequential scan of a small table would lock all of it for the serializable
 * transactions of other requests, so that they conflict.
 */
const PLANNER_OPTIONS = '-c enable_seqscan=off -c jit=off';

/** PostgreSQL's OIDs of bigint and numeric. All values of the service are safe integers. */
const NUMBER_TYPE_OIDS = [20, 1700];

/** Properties of errors that contain rows or statements. Logs must not contain them. */
const REVEALING_PROPERTIES = ['detail', 'where', 'internalQuery'] as const;

const types = new pg.TypeOverrides();
for (const type of NUMBER_TYPE_OIDS) types.setTypeParser(type, Number);

export interface PoolOptions {
  /** Shown in PostgreSQL's `pg_stat_activity`. */
  applicationName?: string;
  maxConnections?: number;
  /** How long a query waits for a free or new connection. */
  connectTimeoutMs?: number;
  /** 0 for no timeout. */
  statementTimeoutMs?: number;
  /** How long a statement waits for a lock. 0 for no timeout. By default, that of the role or database. */
  lockTimeoutMs?: number;
  /** 0 for no timeout. */
  idleInTransactionTimeoutMs?: number;
  /** Time without data from PostgreSQL after which a connection is closed. 0 for no timeout. */
  responseTimeoutMs?: number;
  stopDeadline?: StopDeadline | undefined;
}

/** Opens a pool of connections. Connects at the first query. */
export function openPool(
  url: string,
  {
    applicationName = 'space-service',
    maxConnections = MAX_CONNECTIONS,
    connectTimeoutMs = CONNECT_TIMEOUT_MS,
    statementTimeoutMs = STATEMENT_TIMEOUT_MS,
    lockTimeoutMs,
    idleInTransactionTimeoutMs = IDLE_IN_TRANSACTION_TIMEOUT_MS,
    responseTimeoutMs = RESPONSE_TIMEOUT_MS,
    stopDeadline,
  }: PoolOptions = {},
): pg.Pool {
  const sockets = new Set<Socket>();
  const openSocket = () => {
    const socket = new Socket();
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    // Later, because `pg` could still connect a socket that is already destroyed.
    if (stopDeadline?.signal.aborted) process.nextTick(() => socket.destroy());
    return socket;
  };
  const pool = new pg.Pool({
    connectionString: url,
    stream: openSocket,
    Client: NamingClient,
    max: maxConnections,
    connectionTimeoutMillis: connectTimeoutMs,
    statement_timeout: toSetting(statementTimeoutMs),
    ...(lockTimeoutMs === undefined ? {} : { lock_timeout: toSetting(lockTimeoutMs) }),
    idle_in_transaction_session_timeout: toSetting(idleInTransactionTimeoutMs),
    application_name: applicationName,
    options: PLANNER_OPTIONS,
    keepAlive: true,
    types,
  });
  stopDeadline?.signal.addEventListener('abort', () => {
    if (pool.totalCount > pool.idleCount) stopDeadline.onMissed();
    for (const socket of sockets) socket.destroy();
  });
  // A lost connection fails the query that uses it. Without these empty listeners, it would also end the process.
  pool.on('error', () => {});
  pool.on('connect', (client) => {
    client.on('error', () => {});
    // The timeout closes the connection, which fails its query. The `query_timeout` of pg would return the connection
    // to the pool while it still waits for the response. Idle connections are not affected, because the pool closes
    // them much earlier.
    const socket = client.connection.stream as Socket;
    socket.setTimeout(responseTimeoutMs, () => socket.destroy());
    client.connection.prependListener('errorMessage', (error) => {
      for (const property of REVEALING_PROPERTIES) delete error[property];
      if (isRefusedByStandby(error)) error.code = READ_ONLY;
    });
  });
  return pool;
}

/** Returns a limiter that shares the connections of a pool evenly between senders. */
export function limitConnections({ options }: pg.Pool): Limiter {
  return limitConcurrency({
    limit: options.max,
    maxWaiting: MAX_WAITING_FOR_CONNECTION,
    maxWaitMs: CONNECT_TIMEOUT_MS,
    maxBesideOthers: MAX_CONNECTIONS_BESIDE_OTHERS,
  });
}

/** Converts a timeout to a string, because `pg` does not send the number 0, and then the role's timeout would apply. */
function toSetting(milliseconds: number): number {
  return String(milliseconds) as unknown as number;
}
