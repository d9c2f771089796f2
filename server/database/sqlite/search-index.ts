import type { IndexEngine, SearchIndex } from '../engine.ts';
import { readSnapshot } from '../transaction.ts';

/** The search index in the database itself. Its marks are values of `search_revision`. */
export function sqliteSearchIndex(engine: IndexEngine): SearchIndex {
  return {
    db: engine.db,
    engine,
    async update() {},
    isReady: async () => true,
    read: (work) => readSnapshot(engine.db, work),
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
