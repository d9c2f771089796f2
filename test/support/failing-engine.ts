import { setTimeout as sleep } from 'node:timers/promises';
import type { KyselyPlugin } from 'kysely';
import type { Engine } from '../../server/database/engine.ts';

export interface Failure {
  error: Error;
  /** The number of queries and tasks that succeed before the first one fails. */
  after: number;
}

/**
 * Wraps an engine so that its queries and tasks can fail.
 * @param failure returns the current failure, if any. Another object restarts the count of `after`. Called before each
 *   query and task. From the second run of a prepared query on, called after the query has run.
 */
export function failingEngine(real: Engine, failure: () => Failure | undefined): Engine {
  let queries = 0;
  let previous: Failure | undefined;
  const throwIfFailing = () => {
    const current = failure();
    if (current !== previous) queries = 0;
    previous = current;
    if (current && queries++ >= current.after) throw current.error;
  };
  const counted = new WeakSet<object>();
  const plugin: KyselyPlugin = {
    transformQuery({ node, queryId }) {
      throwIfFailing();
      counted.add(queryId);
      return node;
    },
    // Kysely transforms a prepared query only once. Count its later runs here.
    async transformResult({ result, queryId }) {
      if (!counted.delete(queryId)) throwIfFailing();
      return result;
    },
  };
  const db = real.db.withPlugin(plugin);
  const { searchIndex } = real;
  return {
    ...real,
    db,
    searchIndex: {
      get db() {
        return searchIndex.db.withPlugin(plugin);
      },
      get engine() {
        return searchIndex.engine;
      },
      ...(searchIndex.record && { record: searchIndex.record }),
      async update() {
        throwIfFailing();
        await searchIndex.update();
      },
      isReady: () => searchIndex.isReady(),
      waitingReads: () => searchIndex.waitingReads(),
      countPending: () => searchIndex.countPending(),
      hasHiddenSpaces: (snapshot) => searchIndex.hasHiddenSpaces(snapshot),
      read: (work) => searchIndex.read((snapshot) => work(snapshot.withPlugin(plugin))),
      readMark: (snapshot) => searchIndex.readMark(snapshot),
      changesSince: (snapshot, mark) => searchIndex.changesSince(snapshot, mark),
    },
    async runTask(task, id) {
      // Tasks run on another thread and never fail synchronously.
      await sleep(0);
      throwIfFailing();
      return real.runTask(task, id);
    },
  };
}
