import {
  type Dialect,
  Kysely,
  PostgresAdapter,
  PostgresDriver,
  PostgresIntrospector,
  PostgresQueryCompiler,
} from 'kysely';
import Cursor from 'pg-cursor';
import type { Database } from '../engine.ts';
import type { Schema } from '../schema.ts';
import { assertOutsideTransaction } from '../transaction.ts';
import { openPool, type PoolOptions } from './pool.ts';

/** Connects Kysely to a PostgreSQL database. */
export function connect(url: string, options?: PoolOptions): Database {
  return new Kysely<Schema>({ dialect: postgresDialect(url, options) });
}

function postgresDialect(url: string, options?: PoolOptions): Dialect {
  return {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new CheckedDriver({ pool: openPool(url, options), cursor: Cursor }),
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
