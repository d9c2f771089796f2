import {
  type Dialect,
  Kysely,
  PostgresAdapter,
  PostgresDriver,
  PostgresIntrospector,
  type PostgresPool,
  PostgresQueryCompiler,
  sql,
} from 'kysely';
import Cursor from 'pg-cursor';
import type { Database } from '../engine.ts';
import type { Schema } from '../schema.ts';
import { assertOutsideTransaction } from '../transaction.ts';

/** Connects Kysely to a pool. Destroying the result closes the pool. */
export function connect(pool: PostgresPool): Database {
  return new Kysely<Schema>({ dialect: postgresqlDialect(pool) });
}

/** Kysely's dialect with another migration lock. Rejects queries that bypass the current transaction. */
function postgresqlDialect(pool: PostgresPool): Dialect {
  return {
    createAdapter: () => new TransactionLockAdapter(),
    createDriver: () => new CheckedDriver({ pool, cursor: Cursor }),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  };
}

class CheckedDriver extends PostgresDriver {
  override async acquireConnection(...args: Parameters<PostgresDriver['acquireConnection']>) {
    assertOutsideTransaction();
    return super.acquireConnection(...args);
  }
}

/** An arbitrary key. No other advisory lock may use it. */
const MIGRATION_LOCK_KEY = 7_305_829_416;

/** Kysely's own lock belongs to a session, so it does not work behind a connection pooler in transaction mode. */
class TransactionLockAdapter extends PostgresAdapter {
  override async acquireMigrationLock(db: Kysely<unknown>): Promise<void> {
    await sql`SELECT pg_advisory_xact_lock(${sql.lit(MIGRATION_LOCK_KEY)})`.execute(db);
  }

  override async releaseMigrationLock(): Promise<void> {
    // The end of the transaction releases it.
  }
}
