import { sql } from 'kysely';
import type { Database, Engine } from '../engine.ts';
import { isConflict, isUnavailable, isUniqueViolation } from './errors.ts';
import { wordIndex } from './word-index/word-index.ts';

interface EngineParts {
  readOnReplica?: Engine['readOnReplica'];
  runTask: Engine['runTask'];
  activity: Engine['activity'];
  close: () => Promise<void>;
}

/** Creates an engine for a connected database. */
export function createEngine(
  db: Database,
  { readOnReplica = (_minRevision, read) => read(db), runTask, activity, close }: EngineParts,
): Engine {
  return {
    db,
    wordIndex,
    readOnReplica,
    // Not possible. Autovacuum removes deleted rows later, and the write-ahead log, standbys and backups keep them
    // longer.
    async requestPurge() {},
    // All writers lock this table, whichever tables they write. LOCK TABLE takes no snapshot, so the transaction sees
    // everything that was committed before it acquired the lock. None of the three lock modes blocks readers.
    async shareWriting(trx) {
      await sql`LOCK TABLE search_revision IN ROW SHARE MODE`.execute(trx);
    },
    // Conflicts with itself and with UPDATE, but not with ROW SHARE. Every change of the search index updates the row
    // of this table. Without the lock, its snapshot could be older than another update, and it would be rolled back.
    async excludeIndexWriters(trx) {
      await sql`LOCK TABLE search_revision IN SHARE ROW EXCLUSIVE MODE`.execute(trx);
    },
    async excludeWriters(trx) {
      await sql`LOCK TABLE search_revision IN EXCLUSIVE MODE`.execute(trx);
      // An import fills empty tables. PostgreSQL would cache plans with sequential scans, which become slow as the
      // tables grow. Before version 18, disabling these scans makes unavoidable ones seem so expensive that JIT
      // compiles them. Joins that read whole indexes become slow in the same way.
      await sql`SELECT set_config(name, 'off', true) FROM unnest(ARRAY[
        'enable_seqscan', 'enable_hashjoin', 'enable_mergejoin', 'jit']) AS settings (name)`.execute(
        trx,
      );
    },
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
