import { existsSync } from 'node:fs';
import Sqlite from 'better-sqlite3';
import type { Kysely } from 'kysely';
import { Migrator } from 'kysely/migration';
import { OperatorError } from '../../errors.ts';
import type { Engine } from '../engine.ts';
import type { Schema } from '../schema.ts';
import { connect } from './dialect.ts';
import { explainFailure, isUnavailable, isUniqueViolation } from './errors.ts';
import { startMaintenance } from './maintenance.ts';
import { startMeter } from './meter.ts';
import { migrations } from './migrations/index.ts';
import { wordIndex } from './word-index.ts';

/**
 * Opens a SQLite file as the service's database.
 * @param file      path of the database file; made if it is missing
 * @param runsMaintenance whether this process merges the word index and overwrites what was erased: one process a file
 * @param migrate  whether to bring it up to date; otherwise it has to be
 * @throws OperatorError if the file cannot be used
 */
export async function openSqlite(
  file: string,
  { runsMaintenance, migrate }: { runsMaintenance: boolean; migrate: boolean },
): Promise<Engine> {
  const meter = startMeter();
  const db = connect(file, meter);
  try {
    const isReady = isCurrent(file);
    if (migrate) await migrateToLatest(db);
    else if (!isReady) {
      throw new OperatorError(
        `${file} is of an older version. Start the service, which brings it up to date.`,
      );
    }
  } catch (error) {
    await db.destroy();
    throw explainFailure(error, file);
  }
  const maintenance = startMaintenance({ file, runsMaintenance });
  return engineOn(db, maintenance.runTask, meter.activity, maintenance.stop);
}

/** An engine on a connected database, whose long tasks go to `runTask`. */
export function engineOn(
  db: Kysely<Schema>,
  runTask: Engine['runTask'],
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
    wordIndex,
    isUniqueViolation,
    isUnavailable,
    runTask,
    activity,
    close,
    [Symbol.asyncDispose]: close,
  };
}

/**
 * Looks at a file without changing anything in it.
 * @returns whether it is a database of this version, and not of an older one, or none yet
 * @throws OperatorError if it is of a newer version, or somebody else's
 */
function isCurrent(file: string): boolean {
  if (!existsSync(file)) return false;
  const handle = new Sqlite(file, { timeout: 2_000 });
  try {
    const tables = handle.prepare('SELECT name FROM sqlite_schema').pluck().all();
    if (tables.length === 0) return false;
    if (!tables.includes('kysely_migration')) {
      throw new OperatorError(`${file} is the database of another program.`);
    }
    const made = handle.prepare('SELECT name FROM kysely_migration').pluck().all() as string[];
    if (made.some((name) => !Object.hasOwn(migrations, name))) {
      throw new OperatorError(
        `${file} was brought up to date by a newer version of the service. Use that one, or a backup from before.`,
      );
    }
    return made.length === Object.keys(migrations).length;
  } finally {
    handle.close();
  }
}

async function migrateToLatest(db: Kysely<Schema>): Promise<void> {
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
  const { error } = await migrator.migrateToLatest();
  if (error) throw error;
}
