import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { OperatorError } from '../../errors.ts';
import type { Database, Engine } from '../engine.ts';
import type { OpenOptions } from '../kind.ts';
import { MaintenanceThread } from '../maintenance/maintenance-thread.ts';
import { missingTask } from '../maintenance/missing-task.ts';
import { type Announcements, openAnnouncements } from './announcements.ts';
import { DamageWatch, runCheck } from './check.ts';
import { nextEvent, readCommits, transactionNumber } from './commits.ts';
import { removeCopyMark } from './copy-mark.ts';
import { isMarkedAsDamaged, replaceIncompleteIndex } from './damage.ts';
import { connect } from './dialect.ts';
import { busyError, explainFailure, isDamage, isUnavailable, isUniqueViolation } from './errors.ts';
import { dropIndexes } from './indexes.ts';
import { migrateToLatest, readMissingMigrations } from './migrate.ts';
import { withPlainConnection } from './open-file.ts';
import { sqliteSearchIndex } from './search-index.ts';
import { startMeter } from './waiting.ts';
import { wordIndex } from './word-index/word-index.ts';

/**
 * Opens a SQLite file as the service's database.
 * @throws OperatorError if the file cannot be used, or belongs to another version or another program
 */
export async function openSqlite(
  file: string,
  {
    purpose = 'service',
    runsMaintenance = true,
    tasksModule,
    onMigration,
    prepare,
    stopDeadline,
  }: OpenOptions,
): Promise<Engine> {
  const watch = new DamageWatch(file);
  // The error ends a command. It must not change the database.
  const meter = startMeter(purpose === 'service' ? watch.report : undefined);
  const db = connect(file, meter, stopDeadline?.signal, purpose === 'import');
  try {
    // First, because it throws for files that must not be migrated.
    const missing = readMissingMigrations(file);
    if (purpose !== 'command') {
      if (existsSync(file)) withPlainConnection(file, removeCopyMark);
      // Even without missing migrations, the migrator would wait for other writers.
      if (missing.length > 0) await migrateToLatest(db, missing, onMigration);
    } else if (missing.length > 0) {
      throw new OperatorError(
        `${file} is empty or was written by an older version. Start the service to migrate it.`,
      );
    }
    const isSupervisor = purpose === 'service' && runsMaintenance;
    if (isSupervisor && (await replaceIncompleteIndex(file))) {
      process.emitWarning('Tables of the search index are missing, so it is rebuilt.');
    }
    const prepareEngine = () => prepare?.(createEngine(db, { activity: meter.activity }));
    try {
      await prepareEngine();
    } catch (error) {
      if (!isSupervisor || !isDamage(error)) throw error;
      const { index, data } = await runCheck(file);
      if (index.length === 0 || data.length > 0) throw error;
      await prepareEngine();
    }
  } catch (error) {
    await db.destroy();
    throw explainFailure(error, file);
  }
  const needsThread = purpose === 'service' && (runsMaintenance || tasksModule);
  if (!needsThread) return createEngine(db, { file, activity: meter.activity });
  const announcements = openAnnouncements();
  const thread = new MaintenanceThread(
    new URL('./maintenance/thread-entry.ts', import.meta.url),
    { database: file, runsMaintenance, tasksModule: tasksModule?.href },
    busyError,
    announcements.announceEvent,
  );
  return createEngine(db, {
    file,
    activity: meter.activity,
    announcements,
    runTask: (task, target) => thread.runTask(task, target),
    async beforeClose() {
      await thread.stop();
      await watch.settle();
      announcements.close();
    },
  });
}

/** A purge reads the whole file, so all messages that are deleted and edited in this time share one. */
const LATER_PURGE_DELAY_MS = 10 * 60_000;

interface EngineOptions {
  /** Undefined for a copy of the search index. */
  file?: string;
  runTask?: Engine['runTask'];
  activity?: Engine['activity'];
  announcements?: Pick<Announcements, 'announceEvent' | 'onEvent'>;
  beforeClose?: () => Promise<void>;
}

/** Creates an engine for a connected database. */
export function createEngine(
  db: Database,
  {
    file,
    runTask = async (task) => {
      throw missingTask(task);
    },
    activity = startMeter().activity,
    // Servers notice the events of commands by their own polls.
    announcements = { announceEvent() {}, onEvent() {} },
    beforeClose = async () => {},
  }: EngineOptions = {},
): Engine {
  const close = async () => {
    await beforeClose();
    await db.destroy();
  };
  const index = {
    db,
    wordIndex,
    // A transaction has the write lock from its beginning.
    async lockForWriting() {},
    isConflict: () => false,
  };
  const searchIndex = sqliteSearchIndex(index);
  const isDamaged = () => file !== undefined && isMarkedAsDamaged(file);
  return {
    ...index,
    searchIndex,
    async requestPurge(trx, userIdHash) {
      await trx
        .insertInto('pending_purges')
        .values({
          requested_at: new Date().toISOString(),
          ...(userIdHash !== undefined && { user_id_hash: userIdHash }),
        })
        .execute();
    },
    async requestLaterPurge(trx) {
      const now = Date.now();
      await trx
        .insertInto('pending_purges')
        .values({
          requested_at: new Date(now).toISOString(),
          due_at: new Date(now + LATER_PURGE_DELAY_MS).toISOString(),
        })
        .execute();
    },
    nextEvent,
    transactionNumber,
    readCommits: () => readCommits(db),
    dropIndexes,
    announceEvent: announcements.announceEvent,
    onEvent: announcements.onEvent,
    isUniqueViolation,
    isUnavailable: (error) => isUnavailable(error) || isDamage(error),
    isDamaged,
    async assertUsable() {
      if (isDamaged()) throw new OperatorError('The database is damaged. Run check-database.');
    },
    runTask,
    activity: () => ({ ...activity(), waitingQueries: searchIndex.waitingReads() }),
    async measureSize() {
      const [database = 0, log = 0] = file
        ? await Promise.all([file, `${file}-wal`].map(sizeOf))
        : [];
      return { database, log };
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** The log can be missing. */
async function sizeOf(file: string): Promise<number> {
  return (await stat(file).catch(() => undefined))?.size ?? 0;
}
