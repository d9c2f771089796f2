import type { Database } from '../../server/database/engine.ts';

/** Returns a database that calls `callback` after each query, and awaits it before the query returns its result. */
export function withCallbackAfterQuery(db: Database, callback: () => Promise<unknown>): Database {
  return db.withPlugin({
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      await callback();
      return result;
    },
  });
}
