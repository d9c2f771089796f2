import {
  type DatabaseConnection,
  type Dialect,
  Kysely,
  PostgresAdapter,
  type PostgresDialectConfig,
  PostgresDriver,
  PostgresIntrospector,
  type PostgresPool,
  PostgresQueryCompiler,
} from 'kysely';
import type { Limiter } from '../../system/concurrency.ts';
import type { Database } from '../engine.ts';
import type { Schema } from '../schema.ts';
import { claimConnection } from '../transaction.ts';
import { ClosableCursor } from './cursor.ts';

/**
 * Connects Kysely to a pool. Destroying the result closes the pool.
 * @param limitConnection limits how many connections are used at the same time
 */
export function connect(pool: PostgresPool, limitConnection?: Limiter): Database {
  return new Kysely<Schema>({ dialect: postgresqlDialect(pool, limitConnection) });
}

/** Kysely's dialect without a migration lock. Rejects queries that bypass the current transaction. */
function postgresqlDialect(pool: PostgresPool, limitConnection?: Limiter): Dialect {
  return {
    createAdapter: () => new LocklessAdapter(),
    createDriver: () => new Driver({ pool, cursor: ClosableCursor }, limitConnection),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  };
}

class Driver extends PostgresDriver {
  readonly #limitConnection: Limiter | undefined;
  /** Functions that report the end of the use of connections. */
  readonly #ends = new WeakMap<DatabaseConnection, () => void>();

  constructor(config: PostgresDialectConfig, limitConnection?: Limiter) {
    super(config);
    this.#limitConnection = limitConnection;
  }

  override async acquireConnection(...args: Parameters<PostgresDriver['acquireConnection']>) {
    claimConnection();
    const end = (await this.#limitConnection?.begin()) ?? (() => {});
    try {
      const connection = await super.acquireConnection(...args);
      this.#ends.set(connection, end);
      return connection;
    } catch (error) {
      end();
      throw error;
    }
  }

  override async releaseConnection(
    ...[connection, ...rest]: Parameters<PostgresDriver['releaseConnection']>
  ) {
    const end = this.#ends.get(connection);
    this.#ends.delete(connection);
    try {
      await super.releaseConnection(connection, ...rest);
    } finally {
      end?.();
    }
  }
}

class LocklessAdapter extends PostgresAdapter {
  override async acquireMigrationLock(): Promise<void> {
    // `migrateToLatest` holds a lock.
  }

  override async releaseMigrationLock(): Promise<void> {
    // The end of its transaction releases it.
  }
}
