import Sqlite from 'better-sqlite3';
import { Kysely, SqliteDialect } from 'kysely';
import { Migrator } from 'kysely/migration';
import { migrations } from '../../server/database/sqlite/migrations/index.ts';

/** Runs the migrations up to `name`, inclusive, like the version whose last migration it was. */
export async function migrate(file: string, name: string): Promise<void> {
  const database = new Sqlite(file);
  // Journal mode of the service.
  database.pragma('journal_mode = WAL');
  const db = new Kysely<unknown>({ dialect: new SqliteDialect({ database }) });
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
  const { error } = await migrator.migrateTo(name);
  await db.destroy();
  if (error) throw error;
}
