import { Kysely } from 'kysely';
import { Migrator } from 'kysely/migration';
import type { Engine } from '../engine.ts';
import type { Schema } from '../schema.ts';
import { sqliteDialect } from './connection.ts';
import { isUnavailable, isUniqueViolation } from './errors.ts';
import { startMaintenance } from './maintenance.ts';
import { type Meter, startMeter } from './meter.ts';
import { migrations } from './migrations/index.ts';
import { textIndex } from './text-index.ts';

/**
 * Opens a SQLite file as the service's database, brought up to date.
 * @param file      path of the database file; made if it is missing
 * @param maintains whether this process merges the word index and overwrites what was erased: one process a file
 */
export async function openSqlite(file: string, maintains: boolean): Promise<Engine> {
  const meter = startMeter();
  const db = connect(file, meter);
  await migrate(db);
  const maintenance = startMaintenance({ file, maintains });
  return engineOn(db, maintenance.run, meter.activity, maintenance.stop);
}

export function connect(file: string, meter?: Meter): Kysely<Schema> {
  return new Kysely<Schema>({ dialect: sqliteDialect(file, meter) });
}

/** An engine on a connected database, whose long tasks go to `run`. */
export function engineOn(
  db: Kysely<Schema>,
  run: Engine['run'],
  activity = startMeter().activity,
  beforeClose: () => Promise<void> = async () => {},
): Engine {
  const close = async () => {
    await beforeClose();
    await db.destroy();
  };
  return {
    db,
    readDb: db,
    text: textIndex,
    isUniqueViolation,
    isUnavailable,
    run,
    activity,
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function migrate(db: Kysely<Schema>): Promise<void> {
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
  const { error } = await migrator.migrateToLatest();
  if (error) throw error;
}
