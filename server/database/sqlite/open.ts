import { existsSync } from 'node:fs';
import { OperatorError } from '../../errors.ts';
import type { Engine } from '../engine.ts';
import { MaintenanceThread } from '../maintenance/maintenance-thread.ts';
import { removeCopyMark } from './copy-mark.ts';
import { connect } from './dialect.ts';
import { createEngine } from './engine.ts';
import { busyError, explainFailure } from './errors.ts';
import { startMeter } from './meter.ts';
import { isMigrated, migrateToLatest } from './migrate.ts';
import { withPlainConnection } from './open-file.ts';

export interface SqliteOptions {
  /** Whether to apply missing migrations, also to a new file. If false, a missing migration is an error. */
  migrate: boolean;
  /** Whether this process runs maintenance. Only one process per file should. */
  runsMaintenance: boolean;
  /** URL of a module that exports `tasks`. Without it, `Engine.runTask` throws. */
  tasksModule?: URL | undefined;
  /** Work before the maintenance begins, such as a rebuild of the search index. */
  prepare?: (engine: Engine) => Promise<void>;
  /** Once it is aborted, writes no longer wait for other processes. */
  stopSignal?: AbortSignal | undefined;
}

/**
 * Opens a SQLite file as the service's database.
 * @throws OperatorError if the file cannot be used, or belongs to another version or another program
 */
export async function openSqlite(
  file: string,
  { migrate, runsMaintenance, tasksModule, prepare, stopSignal }: SqliteOptions,
): Promise<Engine> {
  const meter = startMeter();
  const db = connect(file, meter, stopSignal);
  try {
    // First, because it throws for files that must not be migrated.
    const isCurrent = isMigrated(file);
    if (migrate) {
      if (existsSync(file)) withPlainConnection(file, removeCopyMark);
      // Even without missing migrations, the migrator would wait for other writers.
      if (!isCurrent) await migrateToLatest(db);
    } else if (!isCurrent) {
      throw new OperatorError(
        `${file} is empty or was written by an older version. Start the service to migrate it.`,
      );
    }
    await prepare?.(createEngine(db, { activity: meter.activity }));
  } catch (error) {
    await db.destroy();
    throw explainFailure(error, file);
  }
  if (!runsMaintenance && !tasksModule) return createEngine(db, { activity: meter.activity });
  const thread = new MaintenanceThread(
    new URL('./maintenance/thread-entry.ts', import.meta.url),
    { database: file, runsMaintenance, tasksModule: tasksModule?.href },
    busyError,
  );
  return createEngine(db, {
    activity: meter.activity,
    runTask: (task, target) => thread.runTask(task, target),
    beforeClose: () => thread.stop(),
  });
}
