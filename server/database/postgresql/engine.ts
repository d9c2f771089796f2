import { sql } from 'kysely';
import type { Database, DatabaseTransaction, Engine, WriteLockMode } from '../engine.ts';
import { missingTask } from '../maintenance/missing-task.ts';
import { isConflict, isUnavailable, isUniqueViolation } from './errors.ts';
import { reportWait } from './lock-wait.ts';
import { wordIndex } from './word-index/word-index.ts';

/**
 * Modes of LOCK TABLE. None blocks readers. Every change of the search index updates the row of `search_revision`,
 * which conflicts with the mode of `index`, but not with that of `shared`.
 */
const LOCK_MODES: Readonly<Record<WriteLockMode, string>> = {
  shared: 'ROW SHARE',
  index: 'SHARE ROW EXCLUSIVE',
  exclusive: 'EXCLUSIVE',
};

interface EngineOptions {
  readOnReplica?: Engine['readOnReplica'];
  runTask?: Engine['runTask'];
  activity?: Engine['activity'];
  /** Called every ten seconds while a transaction waits for the write lock. */
  onLockWait?: () => void;
  beforeClose?: () => Promise<void>;
}

/** Creates an engine for a connected database. */
export function createEngine(
  db: Database,
  {
    readOnReplica = (_minRevision, read) => read(db),
    runTask = async (task) => {
      throw missingTask(task);
    },
    activity = () => ({ busySeconds: 0, waitSeconds: 0, waitingWriters: 0, waitingQueries: 0 }),
    onLockWait,
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
    readOnReplica,
    // Not possible. Autovacuum removes deleted rows later, and the write-ahead log, standbys and backups keep them
    // longer.
    async requestPurge() {},
    lockForWriting: onLockWait
      ? (trx, mode) => reportWait(lockForWriting(trx, mode), onLockWait)
      : lockForWriting,
    isConflict,
    isUniqueViolation,
    isUnavailable,
    async isStandby() {
      const { rows } = await sql<{ isStandby: boolean }>`
        SELECT pg_is_in_recovery() AS "isStandby"`.execute(db);
      return rows[0]?.isStandby === true;
    },
    runTask,
    activity,
    close,
    [Symbol.asyncDispose]: close,
  };
}

/**
 * See `Engine.lockForWriting`. All writers lock this table, whichever tables they write. LOCK TABLE takes no snapshot,
 * so the transaction sees everything that was committed before it acquired the lock.
 */
async function lockForWriting(trx: DatabaseTransaction, mode: WriteLockMode): Promise<void> {
  await sql`LOCK TABLE search_revision IN ${sql.raw(LOCK_MODES[mode])} MODE`.execute(trx);
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
