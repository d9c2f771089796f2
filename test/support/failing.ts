import { setTimeout as sleep } from 'node:timers/promises';
import type { KyselyPlugin } from 'kysely';
import type { Engine } from '../../server/database/engine.ts';

/** When and how a database that is otherwise sound fails. */
export interface Failure {
  error: Error;
  /** How many queries succeed before. */
  after: number;
}

/** An engine whose queries fail while there is a failure. */
export function failingEngine(real: Engine, failure: () => Failure | undefined): Engine {
  let queries = 0;
  let last: Failure | undefined;
  const fail = () => {
    const now = failure();
    if (now !== last) queries = 0;
    last = now;
    if (now && queries++ >= now.after) throw now.error;
  };
  const counted = new WeakSet<object>();
  const plugin: KyselyPlugin = {
    transformQuery({ node, queryId }) {
      fail();
      counted.add(queryId);
      return node;
    },
    // A prepared query is transformed once, however often it runs.
    async transformResult({ result, queryId }) {
      if (!counted.delete(queryId)) fail();
      return result;
    },
  };
  return {
    ...real,
    db: real.db.withPlugin(plugin),
    readDb: real.readDb.withPlugin(plugin),
    async runTask(task, id) {
      // An order goes to another thread.
      await sleep(0);
      fail();
      return real.runTask(task, id);
    },
  };
}
