import { setTimeout as sleep } from 'node:timers/promises';
import type { KyselyPlugin } from 'kysely';
import type { Engine } from '../../server/database/engine.ts';

/** An error that a working database raises from some query on. */
export interface Failure {
  error: Error;
  /** How many queries succeed first. */
  after: number;
}

/** Returns an engine whose queries fail as long as `failure` returns a failure. */
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
    // A prepared query is transformed only once, so count its other runs by their results.
    async transformResult({ result, queryId }) {
      if (!counted.delete(queryId)) throwIfFailing();
      return result;
    },
  };
  return {
    ...real,
    db: real.db.withPlugin(plugin),
    readDb: real.readDb.withPlugin(plugin),
    async runTask(task, id) {
      // Tasks run on another thread and never fail synchronously.
      await sleep(0);
      throwIfFailing();
      return real.runTask(task, id);
    },
  };
}
