import {
  type Dialect,
  Kysely,
  PostgresAdapter,
  PostgresDriver,
  PostgresIntrospector,
  type PostgresPool,
  PostgresQueryCompiler,
} from 'kysely';
import type { Database } from '../engine.ts';
import type { Schema } from '../schema.ts';
import { claimConnection } from '../transaction.ts';
import { ClosableCursor } from './cursor.ts';

/** Connects Kysely to a pool. Destroying the result closes the pool. */
export function connect(pool: PostgresPool): Database {
  return new Kysely<Schema>({ dialect: postgresqlDialect(pool) });
}

/** Kysely's dialect without a migration lock. Rejects queries that bypass the current transaction. */
function postgresqlDialect(pool: PostgresPool): Dialect {
  return {
    createAdapter: () => new LocklessAdapter(),
    createDriver: () => new CheckedDriver({ pool, cursor: ClosableCursor }),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  };
}

class CheckedDriver extends PostgresDriver {
  override async acquireConnection(...args: Parameters<PostgresDriver['acquireConnection']>) {
    claimConnection();
    return super.acquireConnection(...args);
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
