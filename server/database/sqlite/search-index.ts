import { type Limiter, limitConcurrency } from '../../system/concurrency.ts';
import type { Database, IndexEngine, SearchIndex } from '../engine.ts';
import { prepare } from '../prepared.ts';
import { readSnapshot } from '../transaction.ts';
import { busyError } from './errors.ts';

const MAX_WAITING_READS = 1_000;

/** The search index in the database itself. Its marks are values of `search_revision`. */
export function sqliteSearchIndex(engine: IndexEngine): SearchIndex {
  const limitRead = limitReads();
  return {
    db: engine.db,
    engine,
    async update() {},
    // Everything except searches works while it is rebuilt.
    isReady: async () => true,
    read: (work) =>
      limitRead(() =>
        readSnapshot(engine.db, async (snapshot) => {
          await requireComplete(snapshot);
          return work(snapshot);
        }),
      ),
    waitingReads: limitRead.countWaiting,
    async countPending() {
      const { count } = await engine.db
        .selectFrom('spaces_to_index')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .executeTakeFirstOrThrow();
      return count;
    },
    hasHiddenSpaces: async () => false,
    async readMark(snapshot) {
      const { value } = await snapshot
        .selectFrom('search_revision')
        .select('value')
        .executeTakeFirstOrThrow();
      return [value];
    },
    async changesSince(_snapshot, [firstRevision]) {
      return ({ revision }) => revision >= (firstRevision as number);
    },
  };
}

const selectQueued = prepare({}, (db) =>
  db.selectFrom('spaces_to_index').select('space_pk').limit(1),
);

/** @throws `SQLITE_BUSY` while the index is rebuilt */
async function requireComplete(db: Database): Promise<void> {
  const queued = await selectQueued(db, {});
  if (queued.length > 0) throw busyError('The search index is being rebuilt.');
}

/**
 * Returns a limiter that runs one read of an index after the other. They need the same processor, so if they ran
 * concurrently, all would end late, and each would need an open file of its own. A read must not begin another one.
 */
export function limitReads(): Limiter {
  return limitConcurrency({ limit: 1, maxWaiting: MAX_WAITING_READS });
}
