import { type Limiter, limitConcurrency } from '../../system/concurrency.ts';
import type { IndexEngine, SearchIndex } from '../engine.ts';
import { readSnapshot } from '../transaction.ts';

const MAX_WAITING_READS = 1_000;

/** The search index in the database itself. Its marks are values of `search_revision`. */
export function sqliteSearchIndex(engine: IndexEngine): SearchIndex {
  const limitRead = limitReads();
  return {
    db: engine.db,
    engine,
    async update() {},
    isReady: async () => true,
    read: (work) => limitRead(() => readSnapshot(engine.db, work)),
    waitingReads: limitRead.countWaiting,
    countPending: async () => 0,
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

/**
 * Returns a limiter that runs one read of an index after the other. They need the same processor, so if they ran
 * concurrently, all would end late, and each would need an open file of its own. A read must not begin another one.
 */
export function limitReads(): Limiter {
  return limitConcurrency({ limit: 1, maxWaiting: MAX_WAITING_READS });
}
