import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type Sqlite from 'better-sqlite3';
import { Migrator } from 'kysely/migration';
import { OperatorError } from '../../errors.ts';
import type { Database } from '../engine.ts';
import { foreignTables } from '../foreign-tables.ts';
import type { OpenOptions } from '../kind.ts';
import { migrationNames, reportMigrations } from '../migrations.ts';
import { withPlainConnection } from './open-file.ts';

const names = migrationNames(join(import.meta.dirname, 'migrations'));

/**
 * Returns the names of the migrations that a file lacks: all if it is missing or empty. Does not change the file.
 * @throws OperatorError if it belongs to a newer version or to another program
 */
export function readMissingMigrations(file: string): string[] {
  const applied = existsSync(file) ? readAppliedMigrations(file) : [];
  if (applied.some((name) => !names.includes(name))) {
    throw new OperatorError(
      `${file} was migrated by a newer version of the service. Use that version, or restore a backup from before the upgrade.`,
    );
  }
  return names.filter((name) => !applied.includes(name));
}

/**
 * Returns the names of the migrations of an existing file; none if it is empty. Does not change the file.
 * @throws OperatorError if it belongs to another program
 */
export function readAppliedMigrations(file: string): string[] {
  return withPlainConnection(file, (sqlite) => {
    const tables = readStrings(sqlite, 'SELECT DISTINCT tbl_name FROM sqlite_schema');
    const applied = tables.includes('kysely_migration')
      ? readStrings(sqlite, 'SELECT name FROM kysely_migration')
      : [];
    if (foreignTables(tables, applied, names).length > 0) {
      throw new OperatorError(`${file} is the database of another program.`);
    }
    return applied;
  });
}

/** Returns the only column of a query. */
function readStrings(sqlite: Sqlite.Database, query: string): string[] {
  return sqlite.prepare<[], string>(query).pluck().all();
}

/** @param missing the names of the missing migrations */
export async function migrateToLatest(
  db: Database,
  missing: readonly string[] = [],
  onMigration: OpenOptions['onMigration'] = () => {},
): Promise<void> {
  // Only here, because every process and thread would load these modules.
  const { migrations } = await import('./migrations/index.ts');
  const reported = reportMigrations(migrations, missing, onMigration);
  const migrator = new Migrator({ db, provider: { getMigrations: async () => reported } });
  const { error } = await migrator.migrateToLatest();
  if (error) throw error;
}
