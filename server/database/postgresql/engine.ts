import { sql } from 'kysely';
import type { Database, Engine } from '../engine.ts';
import { isConflict, isUnavailable, isUniqueViolation } from './errors.ts';
import { wordIndex } from './word-index.ts';

interface EngineParts {
  runTask: Engine['runTask'];
  activity: Engine['activity'];
  close: () => Promise<void>;
}

/** Creates an engine for a connected database. */
export function createEngine(db: Database, { runTask, activity, close }: EngineParts): Engine {
  return {
    db,
    readDb: db,
    wordIndex,
    // Autovacuum removes deleted rows at some time, and the write-ahead log, standbys and backups keep them for longer.
    async requestPurge() {},
    // The lock of this table, which has one row, stands for all tables. LOCK TABLE takes no snapshot, so the transaction
    // sees what others have committed before it got the lock. Neither lock blocks readers.
    async shareWriting(trx) {
      await sql`LOCK TABLE search_revision IN ROW SHARE MODE`.execute(trx);
    },
    async excludeWriters(trx) {
      await sql`LOCK TABLE search_revision IN EXCLUSIVE MODE`.execute(trx);
      // It may fill empty tables. Plans that read a whole small table would be kept for it. Before version 18, scans that
      // cannot be avoided then seem so expensive that PostgreSQL compiles them.
      await sql`SELECT set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)`.execute(
        trx,
      );
    },
    isConflict,
    isUniqueViolation,
    isUnavailable,
    runTask,
    activity,
    close,
    [Symbol.asyncDispose]: close,
  };
}
