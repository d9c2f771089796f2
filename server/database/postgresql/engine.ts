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
    async preventConflicts(trx) {
      // Most conflicts are between transactions that change the word index. All of them raise the search revision.
      // LOCK TABLE takes no snapshot, so the transaction sees what others have committed before it got the lock.
      await sql`LOCK TABLE search_revision IN EXCLUSIVE MODE`.execute(trx);
    },
    async excludeWriters(trx) {
      // A transaction that runs alone may fill empty tables. Plans that read a whole small table would be kept for it.
      await sql`SET LOCAL enable_seqscan = off`.execute(trx);
      // Before version 18, unavoidable scans then seem so expensive that PostgreSQL compiles them.
      await sql`SET LOCAL jit = off`.execute(trx);
      await sql`LOCK TABLE users, spaces, participations, tags, space_tags, messages, appreciations, reports,
        search_revision IN EXCLUSIVE MODE`.execute(trx);
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
