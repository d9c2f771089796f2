import { sql } from 'kysely';
import { Migrator } from 'kysely/migration';
import { OperatorError } from '../../errors.ts';
import type { Database } from '../engine.ts';
import { reportWait } from './lock-wait.ts';
import { migrations } from './migrations/index.ts';

/** An arbitrary key. No other advisory lock may use it. */
const MIGRATION_LOCK_KEY = 7_305_829_416;

/**
 * Applies missing migrations. Processes that start at the same time wait for each other.
 * @param onLockWait called every ten seconds while another process migrates
 * @throws OperatorError if the database belongs to a newer version or to another program
 */
export async function migrateToLatest(
  db: Database,
  onLockWait: () => void = () => {},
): Promise<void> {
  // Each statement must see what the previous holder of the lock has committed.
  const transaction = db.transaction().setIsolationLevel('read committed');
  await transaction.execute(async (trx) => {
    // Unlike a lock of the session, it works behind a connection pooler in transaction mode.
    await reportWait(
      sql`SELECT pg_advisory_xact_lock(${sql.lit(MIGRATION_LOCK_KEY)})`.execute(trx),
      onLockWait,
    );
    // Called only for its checks, before the migrator changes a database of a newer version or another program.
    await readMissing(trx);
    const provider = { getMigrations: async () => migrations };
    const { error } = await new Migrator({ db: trx, provider }).migrateToLatest();
    if (error) throw error;
  });
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
async function readMissing(db: Database): Promise<string[]> {
  const { rows: tables } = await sql<{ name: string }>`
    SELECT table_name AS name FROM information_schema.tables WHERE table_schema = current_schema()`.execute(
    db,
  );
  if (tables.length === 0) return Object.keys(migrations);
  if (!tables.some(({ name }) => name === 'kysely_migration')) {
    throw new OperatorError('The database of DATABASE_URL belongs to another program.');
  }
  const { rows } = await sql<{ name: string }>`SELECT name FROM kysely_migration`.execute(db);
  const applied = rows.map(({ name }) => name);
  if (applied.some((name) => !Object.hasOwn(migrations, name))) {
    throw new OperatorError(
      'The database of DATABASE_URL was migrated by a newer version of the service. Use that version, or restore a backup from before the upgrade.',
    );
  }
  return Object.keys(migrations).filter((name) => !applied.includes(name));
}
