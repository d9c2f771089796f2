import type { Engine, TaskName } from '../engine.ts';
import type { OpenOptions } from '../kind.ts';
import { MaintenanceThread } from '../maintenance/maintenance-thread.ts';
import { missingTask } from '../maintenance/missing-task.ts';
import { withTimeout } from '../timeout.ts';
import { connect } from './dialect.ts';
import { createEngine } from './engine.ts';
import { explainFailure, stoppingError, timeoutError } from './errors.ts';
import { assertMigrated, migrateToLatest } from './migrate.ts';
import { openPool, RESPONSE_TIMEOUT_MS } from './pool.ts';
import { Replica, type ReplicaOptions } from './replica/replica.ts';
import { failAtDeadline, stopThread } from './stopping.ts';

export interface PostgresqlOptions extends OpenOptions {
  /** Whether to apply missing migrations. If false, a missing migration is an error. */
  migrate: boolean;
  /** Whether statements and transactions have the timeouts of requests. Imports and commands can take longer. */
  hasTimeouts?: boolean;
  /** URL of a standby for searches. */
  readUrl?: string | null;
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
export async function openPostgresql(url: string, options: PostgresqlOptions): Promise<Engine> {
  const {
    runsMaintenance = true,
    tasksModule,
    hasTimeouts = true,
    stopDeadline,
    readUrl,
    onReplicaUnusable: onUnusable = () => {},
    onReplicaUsable: onUsable = () => {},
  } = options;
  try {
    await prepareDatabase(url, options);
  } catch (error) {
    throw explainFailure(error, url);
  }
  const pool = openPool(url, hasTimeouts ? { stopDeadline } : WITHOUT_TIMEOUTS);
  const db = connect(pool);
  const replica = readUrl
    ? await openReplica({ url: readUrl, primary: db, onUnusable, onUsable })
    : undefined;
  const thread =
    runsMaintenance || tasksModule
      ? new MaintenanceThread(
          new URL('./maintenance/thread-entry.ts', import.meta.url),
          { database: url, runsMaintenance, tasksModule: tasksModule?.href },
          stoppingError,
        )
      : undefined;
  return createEngine(db, {
    readOnReplica: (minRevision, read) => (replica ? replica.read(minRevision, read) : read(db)),
    runTask: async (task: TaskName, target) => {
      if (!thread) throw missingTask(task);
      // The timeout of requests. The task continues, because only its thread can end it.
      const ended = withTimeout(thread.runTask(task, target), RESPONSE_TIMEOUT_MS, () =>
        timeoutError('The task did not end in time.'),
      );
      await failAtDeadline(ended, stopDeadline);
    },
    // Queries do not block the main thread, and only the PostgreSQL server knows which writers wait for a lock.
    activity: () => ({
      busySeconds: 0,
      waitSeconds: 0,
      waitingWriters: 0,
      // Without reads that wait for a hanging replica, because they run on the primary after a second at most.
      waitingQueries: pool.waitingCount,
      ...(replica && { replicaReads: replica.reads }),
    }),
    async beforeClose() {
      if (thread) await stopThread(thread, stopDeadline);
      await replica?.close();
    },
  });
}

/** Opens a replica. Closes the primary if that fails. */
async function openReplica(options: ReplicaOptions): Promise<Replica> {
  try {
    return await Replica.open(options);
  } catch (error) {
    await options.primary.destroy();
    throw error;
  }
}

/**
 * Migrates the database, or checks that it is migrated, and prepares it, without the timeouts of requests. Another
 * server may do the same for a long time.
 */
async function prepareDatabase(
  url: string,
  { migrate, prepare, onLockWait = () => {} }: PostgresqlOptions,
): Promise<void> {
  const db = connect(openPool(url, { ...WITHOUT_TIMEOUTS, maxConnections: 1 }));
  const reportMigration = () =>
    onLockWait('another server migrates the database, waiting until it has finished');
  const reportWriter = () =>
    onLockWait(
      'another server rebuilds the search index, or an import runs, waiting until it has finished',
    );
  try {
    if (migrate) await migrateToLatest(db, reportMigration);
    else await assertMigrated(db);
    await prepare?.(createEngine(db, { onLockWait: reportWriter }));
  } finally {
    await db.destroy();
  }
}
