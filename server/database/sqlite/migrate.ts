import { existsSync } from 'node:fs';
import type Sqlite from 'better-sqlite3';
import { Migrator } from 'kysely/migration';
import { OperatorError } from '../../errors.ts';
import type { Database } from '../engine.ts';
import { foreignTables } from '../foreign-tables.ts';
import { migrations } from './migrations/index.ts';
import { withPlainConnection } from './open-file.ts';

/**
 * Returns whether a file is a database with all migrations. Returns false for a missing or empty file. Does not change
 * the file.
 * @throws OperatorError if it belongs to a newer version or to another program
 */
export function isMigrated(file: string): boolean {
  if (!existsSync(file)) return false;
  const applied = readAppliedMigrations(file);
  if (applied.some((name) => !Object.hasOwn(migrations, name))) {
    throw new OperatorError(
      `${file} was migrated by a newer version of the service. Use that version, or restore a backup from before the upgrade.`,
    );
  }
  return applied.length === Object.keys(migrations).length;
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
    if (foreignTables(tables, applied, Object.keys(migrations)).length > 0) {
      throw new OperatorError(`${file} is the database of another program.`);
    }
    return applied;
  });
}

/** Returns the only column of a query. */
function readStrings(sqlite: Sqlite.Database, query: string): string[] {
  return sqlite.prepare<[], string>(query).pluck().all();
}

export async function migrateToLatest(db: Database): Promise<void> {
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
  const { error } = await migrator.migrateToLatest();
  if (error) throw error;
}
