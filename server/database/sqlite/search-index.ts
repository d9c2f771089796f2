import type { Database, IndexEngine, SearchIndex } from '../engine.ts';
import { readSnapshot } from '../transaction.ts';

/** The search index in the database itself. Its marks are values of `search_revision`. */
export function sqliteSearchIndex(engine: IndexEngine): SearchIndex {
  const reads = readInTurn(() => engine.db);
  return {
    db: engine.db,
    engine,
    async update() {},
    isReady: async () => true,
    read: reads.run,
    waitingReads: reads.countWaiting,
    countPending: async () => 0,
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
 * Runs one read of an index after the other. They need the same processor, so if they ran
 * concurrently, all would end late, and each would need an open file of its own. A read must not begin another one.
 */
export function readInTurn(database: () => Database) {
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  return {
    run<T>(work: (snapshot: Database) => Promise<T>): Promise<T> {
      waiting += 1;
      const result = last.then(() => {
        waiting -= 1;
        return readSnapshot(database(), work);
      });
      last = result.catch(() => {});
      return result;
    },
    countWaiting: () => waiting,
  };
}
