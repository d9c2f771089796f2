import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { Migrator } from 'kysely/migration';
import { OperatorError } from '../../errors.ts';
import type { Database } from '../engine.ts';
import { codeOf } from '../error-code.ts';
import { foreignTables } from '../foreign-tables.ts';
import type { OpenOptions } from '../kind.ts';
import { migrationNames, reportMigrations } from '../migrations.ts';
import { isConflict, isDuplicateObject } from './errors.ts';
import { REPORT_INTERVAL_MS, reportWait } from './lock-wait.ts';

const names = migrationNames(join(import.meta.dirname, 'migrations'));

/** An arbitrary key. No other advisory lock may use it. */
const MIGRATION_LOCK_KEY = 7_305_829_416;

/** PostgreSQL's code after `lock_timeout`. */
const LOCK_NOT_AVAILABLE = '55P03';

/** Maximum number of tables of another program that an error message names. */
const MAX_LISTED_TABLES = 3;

/** How long an attempt to lock the tables waits. Shorter than PostgreSQL's default time until it detects a deadlock. */
const LOCK_TIMEOUT_MS = 250;

/** Time between two attempts, in which other transactions continue. */
const LOCK_RETRY_INTERVAL_MS = 500;

/**
 * Applies missing migrations. Processes that start at the same time wait for each other, and for the transactions of
 * servers that use the database.
 * @param onLockWait called every ten seconds while others hold locks, with a message for the log
 * @throws OperatorError if the database belongs to a newer version or to another program, or does not use UTF-8, or if
 *   the user may not create the missing tables
 */
export async function migrateToLatest(
  db: Database,
  onLockWait: (message: string) => void = () => {},
  onMigration: OpenOptions['onMigration'] = () => {},
): Promise<void> {
  // Each statement must see what the previous holder of the lock has committed.
  const transaction = db.transaction().setIsolationLevel('read committed');
  await transaction.execute(async (trx) => {
    // Unlike a lock of the session, it works behind a connection pooler in transaction mode.
    await reportWait(
      sql`SELECT pg_advisory_xact_lock(${sql.lit(MIGRATION_LOCK_KEY)})`.execute(trx),
      () => onLockWait('another server migrates the database, waiting until it has finished'),
    );
    // Before the migrator changes a database of a newer version or another program.
    const missing = await readMissing(trx);
    await assertUtf8(trx);
    // The migrator hides the cause, because it continues after an error, although the transaction is aborted.
    if (missing.length > 0) await assertCanCreateTables(trx);
    // Only here, because every process and thread would load these modules.
    const { migrations } = await import('./migrations/index.ts');
    const reported = reportMigrations(migrations, missing, onMigration);
    const provider = { getMigrations: async () => reported };
    const { schema, tables } = await readTables(trx);
    if (missing.length > 0 && tables.length > 0) await lockTables(trx, tables, onLockWait);
    const migrator = new Migrator({
      db: trx,
      provider,
      // Otherwise, the migrator mistakes tables of another schema for its own.
      ...(schema !== null && { migrationTableSchema: schema }),
    });
    const { error } = await migrator.migrateToLatest();
    if (error) throw explainNameConflict(error);
  });
}

/**
 * Locks all tables until the transaction ends. Otherwise, migrations would lock one after the other, and wait for
 * transactions of servers that wait for them. Such a deadlock is possible here, too, but an attempt ends before it is
 * detected, and releases all locks. The next attempt begins with the table that was not available: transactions that
 * lock it before another one then wait without a lock, instead of meeting each attempt.
 */
async function lockTables(
  trx: Database,
  tables: readonly string[],
  onLockWait: (message: string) => void,
): Promise<void> {
  // All writers lock this table first.
  let order = moveToFront(tables, 'write_lock');
  let reportAt = performance.now() + REPORT_INTERVAL_MS;
  await sql`SELECT set_config('lock_timeout', ${String(LOCK_TIMEOUT_MS)}, true)`.execute(trx);
  for (;;) {
    const unavailable = await tryToLock(trx, order);
    if (unavailable === undefined) break;
    order = moveToFront(order, unavailable);
    if (performance.now() > reportAt) {
      onLockWait(`the migration waits for other programs: ${await readLockHolders(trx)}`);
      reportAt = performance.now() + REPORT_INTERVAL_MS;
    }
    await sleep(LOCK_RETRY_INTERVAL_MS);
  }
  await sql`SELECT set_config('lock_timeout', '0', true)`.execute(trx);
}

function moveToFront(tables: readonly string[], first: string): string[] {
  return tables.toSorted((a, b) => Number(b === first) - Number(a === first));
}

/** Locks all tables, in this order, or none. Returns the name of the table that is not available. */
async function tryToLock(trx: Database, tables: readonly string[]): Promise<string | undefined> {
  await sql`SAVEPOINT tables`.execute(trx);
  for (const name of tables) {
    try {
      await sql`LOCK TABLE ${sql.table(name)}`.execute(trx);
    } catch (error) {
      if (codeOf(error) !== LOCK_NOT_AVAILABLE && !isConflict(error)) throw error;
      await sql`ROLLBACK TO SAVEPOINT tables`.execute(trx);
      return name;
    }
  }
  return undefined;
}

/** Describes the sessions that hold locks on tables of this database, the longest transaction first. */
async function readLockHolders(trx: Database): Promise<string> {
  const { rows } = await sql<{ holder: string }>`
    SELECT format('%s of %s (process %s, %s) for %s s', coalesce(nullif(application_name, ''), 'a program'),
      usename, pid, state, round(extract(epoch FROM clock_timestamp() - xact_start))) AS holder
    FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND EXISTS (
      SELECT FROM pg_locks WHERE pg_locks.pid = pg_stat_activity.pid AND locktype = 'relation' AND granted
        AND relation >= 16384)
    ORDER BY xact_start LIMIT 5`.execute(trx);
  return rows.map(({ holder }) => holder).join('; ') || 'none now';
}

/** @throws OperatorError if the database lacks a migration, or belongs to a newer version or to another program */
export async function assertMigrated(db: Database): Promise<void> {
  const missing = await readMissing(db);
  if (missing.length === 0) return;
  throw new OperatorError(
    'The database of DATABASE_URL is empty or was written by an older version. Start the service to migrate it.',
  );
}

/** Returns the names of the migrations that are not applied yet. */
export async function readMissing(db: Database): Promise<string[]> {
  const { schema, tables } = await readTables(db);
  const { rows } = tables.includes('kysely_migration')
    ? await sql<{ name: string }>`SELECT name FROM kysely_migration`.execute(db)
    : { rows: [] };
  const applied = rows.map(({ name }) => name);
  const others = foreignTables(tables, applied, names);
  if (others.length > 0) {
    const found = others.slice(0, MAX_LISTED_TABLES).join(', ');
    const more = others.length > MAX_LISTED_TABLES ? ', …' : '';
    throw new OperatorError(
      `The database of DATABASE_URL belongs to another program: its schema "${schema}" contains ${found}${more}. Use an empty database.`,
    );
  }
  if (applied.some((name) => !names.includes(name))) {
    throw new OperatorError(
      'The database of DATABASE_URL was migrated by a newer version of the service. Use that version, or restore a backup from before the upgrade.',
    );
  }
  return names.filter((name) => !applied.includes(name));
}

/**
 * Returns the schema of the service, and the names of its tables. Hosted databases can contain extensions from the
 * start, so their tables are excluded. So are views.
 */
async function readTables(db: Database): Promise<{ schema: string | null; tables: string[] }> {
  const { rows } = await sql<{ schema: string | null; tables: string[] }>`
    SELECT current_schema() AS schema, ARRAY(
      SELECT class.relname::text
      FROM pg_class AS class JOIN pg_namespace AS namespace ON namespace.oid = class.relnamespace
      -- Tables, partitioned tables and foreign tables.
      WHERE namespace.nspname = current_schema() AND class.relkind IN ('r', 'p', 'f')
        AND NOT EXISTS (
          SELECT FROM pg_depend AS dependency
          WHERE dependency.classid = 'pg_class'::regclass AND dependency.objid = class.oid
            AND dependency.deptype = 'e'
        )
      ORDER BY class.relname
    ) AS tables`.execute(db);
  return rows[0] as { schema: string | null; tables: string[] };
}

/** @throws OperatorError if the database cannot store all characters */
async function assertUtf8(db: Database): Promise<void> {
  const { rows } = await sql<{ encoding: string }>`
    SELECT current_setting('server_encoding') AS encoding`.execute(db);
  const { encoding } = rows[0] as { encoding: string };
  if (encoding === 'UTF8') return;
  throw new OperatorError(
    `The database of DATABASE_URL has the encoding ${encoding}. Create another one with createdb --encoding UTF8 --template template0, and set DATABASE_URL to it.`,
  );
}

interface SchemaPrivileges {
  user: string;
  searchPath: string;
  /** Null if no schema of the search path exists, or the user may use none of them. */
  schema: string | null;
  canCreate: boolean | null;
}

/** @throws OperatorError if the user may not create tables in the schema, or the schema does not exist */
async function assertCanCreateTables(db: Database): Promise<void> {
  const { rows } = await sql<SchemaPrivileges>`
    SELECT quote_ident(current_user) AS user, current_setting('search_path') AS "searchPath",
      quote_ident(current_schema()) AS schema, has_schema_privilege(current_schema(), 'CREATE') AS "canCreate"
    `.execute(db);
  const { user, searchPath, schema, canCreate } = rows[0] as SchemaPrivileges;
  if (schema === null) {
    throw new OperatorError(
      `The database of DATABASE_URL has no schema that the user ${user} may use: its search_path is ${searchPath}. Create the schema, for example with CREATE SCHEMA AUTHORIZATION ${user}, or correct the search_path.`,
    );
  }
  if (!canCreate) {
    throw new OperatorError(
      `In the database of DATABASE_URL, the user ${user} may not create tables in the schema ${schema}. Run GRANT CREATE ON SCHEMA ${schema} TO ${user}.`,
    );
  }
}

/** Names the object that prevents a migration. Returns other errors unchanged. */
function explainNameConflict(error: unknown): unknown {
  if (!(error instanceof Error) || !isDuplicateObject(error)) return error;
  return new OperatorError(
    `Cannot migrate the database of DATABASE_URL: ${error.message}. It belongs to another program or an extension. Remove this object, or use an empty database.`,
    { cause: error },
  );
}
