import { sql } from 'kysely';
import { TemporaryError } from '../../errors.ts';
import type {
  Database,
  DatabaseTransaction,
  Engine,
  Indexer,
  SearchIndex,
  TaskName,
  WriteLockMode,
} from '../engine.ts';
import type { OpenOptions } from '../kind.ts';
import { MaintenanceThread } from '../maintenance/maintenance-thread.ts';
import { missingTask } from '../maintenance/missing-task.ts';
import { explainFailure as explainCopyFailure } from '../sqlite/errors.ts';
import { type Meter, startMeter } from '../sqlite/waiting.ts';
import { wordIndex } from '../sqlite/word-index/word-index.ts';
import { withTimeout } from '../timeout.ts';
import { type Announcements, openAnnouncements } from './announcements.ts';
import { readCommits, transactionNumber } from './commits.ts';
import { connect } from './dialect.ts';
import {
  explainFailure,
  isConflict,
  isUnavailable,
  isUniqueViolation,
  stoppingError,
  timeoutError,
} from './errors.ts';
import { nextEvent } from './event-clocks.ts';
import { reportWait } from './lock-wait.ts';
import { assertMigrated, migrateToLatest, readMissing } from './migrate.ts';
import { limitConnections, openPool, RESPONSE_TIMEOUT_MS } from './pool.ts';
import { prepareCopy } from './search-copy/copy-file.ts';
import { recordChanges } from './search-copy/log.ts';
import { SearchCopy } from './search-copy/search-copy.ts';
import { failAtDeadline, stopThread } from './stopping.ts';

interface PostgresqlOptions extends OpenOptions {
  /** The folder for the copy of the search index. */
  indexFolder?: string;
  /** The file for the hashes of deleted accounts. See `erasure-journal.ts`. */
  journal?: string;
}

const WITHOUT_TIMEOUTS = {
  statementTimeoutMs: 0,
  lockTimeoutMs: 0,
  idleInTransactionTimeoutMs: 0,
  responseTimeoutMs: 0,
} as const;

/**
 * Opens a PostgreSQL database as the service's database.
 * @throws OperatorError if it cannot be used, or belongs to another version or another program
 */
export async function openPostgresql(
  url: string,
  { indexFolder, journal, ...options }: PostgresqlOptions = {},
): Promise<Engine> {
  const isService = options.purpose === undefined || options.purpose === 'service';
  const { runsMaintenance = isService, tasksModule, stopDeadline } = options;
  try {
    await prepareDatabase(url, options);
  } catch (error) {
    throw explainFailure(error, url);
  }
  const pool = openPool(url, isService ? { stopDeadline } : WITHOUT_TIMEOUTS);
  const limitConnection = limitConnections(pool);
  const db = connect(pool, isService ? limitConnection : undefined);
  const meter = startMeter();
  const copy =
    isService && indexFolder !== undefined && options.indexer
      ? await openCopy(indexFolder, db, meter, options.indexer, { ...options, runsMaintenance })
      : undefined;
  const announcements = isService ? openAnnouncements(url, db) : undefined;
  const thread =
    runsMaintenance || tasksModule
      ? new MaintenanceThread(
          new URL('./maintenance/thread-entry.ts', import.meta.url),
          {
            database: url,
            indexFolder: copy && indexFolder,
            journal,
            runsMaintenance,
            tasksModule: tasksModule?.href,
          },
          stoppingError,
          announcements?.announceEvent,
        )
      : undefined;
  return createEngine(db, {
    ...(announcements && { announcements }),
    ...(copy && { searchIndex: copy }),
    runTask: async (task: TaskName, target) => {
      if (!thread) throw missingTask(task);
      // The timeout of requests. The task continues, because only its thread can end it.
      const ended = withTimeout(thread.runTask(task, target), RESPONSE_TIMEOUT_MS, () =>
        timeoutError('The task did not end in time.'),
      );
      await failAtDeadline(ended, stopDeadline);
    },
    // Only the PostgreSQL server knows which writers wait for a lock.
    activity: () => ({
      busySeconds: meter.activity().busySeconds,
      waitSeconds: 0,
      waitingWriters: 0,
      waitingQueries: limitConnection.countWaiting() + (copy?.waitingReads() ?? 0),
    }),
    async beforeClose() {
      if (thread) await stopThread(thread, stopDeadline);
      await announcements?.close();
      await copy?.close();
    },
  });
}

/** Opens the copy of the search index, and builds or repairs it. Closes the database if that fails. */
async function openCopy(
  folder: string,
  db: Database,
  meter: Meter,
  indexer: Indexer,
  { runsMaintenance, onIndexRepair = () => {}, onIndexProgress = () => {} }: OpenOptions,
): Promise<SearchCopy> {
  try {
    // The copy belongs to the process that runs maintenance. Others may already use it.
    if (runsMaintenance) await prepareCopy(folder, indexer.version, onIndexRepair);
    const copy = new SearchCopy(folder, db, indexer, meter);
    await copy.prepare(onIndexRepair, onIndexProgress);
    return copy;
  } catch (error) {
    await db.destroy();
    throw explainCopyFailure(error, folder);
  }
}

/** See `DatabaseKind.missingMigrations`. */
export async function readMissingMigrations(url: string): Promise<string[]> {
  const db = connect(openPool(url, { ...WITHOUT_TIMEOUTS, maxConnections: 1 }));
  try {
    return await readMissing(db);
  } finally {
    await db.destroy();
  }
}

/**
 * Migrates the database, or checks that it is migrated, and prepares it, without the timeouts of requests. Another
 * server may do the same for a long time.
 */
async function prepareDatabase(
  url: string,
  { purpose, prepare, onLockWait = () => {}, onMigration }: OpenOptions,
): Promise<void> {
  const db = connect(openPool(url, { ...WITHOUT_TIMEOUTS, maxConnections: 1 }));
  const reportWriter = () =>
    onLockWait(
      'another server rebuilds the search index, or an import runs, waiting until it has finished',
    );
  try {
    if (purpose === 'command') {
      await assertMigrated(db);
    } else {
      await assertPrimary(db);
      await migrateToLatest(db, onLockWait, onMigration);
    }
    await prepare?.(createEngine(db, { onLockWait: reportWriter }));
  } finally {
    await db.destroy();
  }
}

/** @throws TemporaryError if the database accepts no writes, because it is a standby */
async function assertPrimary(db: Database): Promise<void> {
  const { rows } = await sql<{ isStandby: boolean }>`
    SELECT pg_is_in_recovery() AS "isStandby"`.execute(db);
  if (!rows[0]?.isStandby) return;
  throw new TemporaryError(
    'The database of DATABASE_URL is a standby. Promote it, or set DATABASE_URL to the primary.',
  );
}

/** Modes of LOCK TABLE. */
const LOCK_MODES: Readonly<Record<WriteLockMode, string>> = {
  shared: 'ROW SHARE',
  exclusive: 'EXCLUSIVE',
};

interface EngineOptions {
  /** By default, changes are recorded, and searches are not possible. */
  searchIndex?: SearchIndex;
  runTask?: Engine['runTask'];
  activity?: Engine['activity'];
  /** Called every ten seconds while a transaction waits for the write lock. */
  onLockWait?: () => void;
  announcements?: Pick<Announcements, 'announceEvent' | 'onEvent'>;
  beforeClose?: () => Promise<void>;
}

/** The search index of a process without a copy, such as a command. */
const logOnly: SearchIndex = {
  get db(): never {
    throw missingCopy();
  },
  get engine(): never {
    throw missingCopy();
  },
  record: recordChanges,
  async update() {
    throw missingCopy();
  },
  async isReady() {
    return false;
  },
  async read() {
    throw missingCopy();
  },
  waitingReads: () => 0,
  async countPending() {
    throw missingCopy();
  },
  async hasHiddenSpaces() {
    throw missingCopy();
  },
  async readMark() {
    throw missingCopy();
  },
  async changesSince() {
    throw missingCopy();
  },
};

function missingCopy(): Error {
  return new Error('This process has no copy of the search index.');
}

/** Creates an engine for a connected database. */
export function createEngine(
  db: Database,
  {
    searchIndex = logOnly,
    runTask = async (task) => {
      throw missingTask(task);
    },
    activity = () => ({ busySeconds: 0, waitSeconds: 0, waitingWriters: 0, waitingQueries: 0 }),
    onLockWait,
    // Servers notice the events of commands by their own polls.
    announcements = { announceEvent() {}, onEvent() {} },
    beforeClose = async () => {},
  }: EngineOptions = {},
): Engine {
  const close = async () => {
    await beforeClose();
    await db.destroy();
  };
  return {
    db,
    wordIndex,
    searchIndex,
    // Deleted rows cannot be overwritten. Autovacuum removes them later, and the write-ahead log, standbys and backups
    // keep them longer.
    async requestPurge(trx, userIdHash) {
      if (userIdHash === undefined) return;
      const requested_at = new Date().toISOString();
      const values = { requested_at, user_id_hash: userIdHash };
      await trx.insertInto('pending_purges').values(values).execute();
    },
    async requestLaterPurge() {},
    lockForWriting: onLockWait
      ? (trx, mode) => reportWait(lockForWriting(trx, mode), onLockWait)
      : lockForWriting,
    nextEvent,
    transactionNumber,
    readCommits: () => readCommits(db),
    ...announcements,
    isConflict,
    isUniqueViolation,
    isUnavailable,
    isDamaged: () => false,
    async assertUsable() {
      await assertPrimary(db);
      await assertMigrated(db);
    },
    runTask,
    activity,
    async measureSize() {
      const { rows } = await sql<{
        size: number;
      }>`SELECT pg_database_size(current_database()) AS size`.execute(db);
      return { database: Number(rows[0]?.size), log: null };
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/**
 * See `Engine.lockForWriting`. All writers lock this table, whichever tables they write. LOCK TABLE takes no snapshot,
 * so the transaction sees everything that was committed before it acquired the lock.
 */
async function lockForWriting(trx: DatabaseTransaction, mode: WriteLockMode): Promise<void> {
  await sql`LOCK TABLE write_lock IN ${sql.raw(LOCK_MODES[mode])} MODE`.execute(trx);
  if (mode === 'exclusive') await avoidSequentialScans(trx);
}

/**
 * An import fills empty tables. PostgreSQL would cache plans with sequential scans, which become slow as the tables
 * grow, and with joins that read whole indexes. Before version 18, disabling these scans makes unavoidable ones seem so
 * expensive that JIT compiles them.
 */
async function avoidSequentialScans(trx: DatabaseTransaction): Promise<void> {
  await sql`SELECT set_config(name, 'off', true) FROM unnest(ARRAY[
    'enable_seqscan', 'enable_hashjoin', 'enable_mergejoin', 'jit']) AS settings (name)`.execute(
    trx,
  );
}
