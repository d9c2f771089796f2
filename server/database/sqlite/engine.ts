import type { Database, Engine } from '../engine.ts';
import { missingTask } from '../maintenance/missing-task.ts';
import { isUnavailable, isUniqueViolation } from './errors.ts';
import { startMeter } from './meter.ts';
import { wordIndex } from './word-index.ts';

interface EngineOptions {
  runTask?: Engine['runTask'];
  activity?: Engine['activity'];
  beforeClose?: () => Promise<void>;
}

/** Creates an engine for a connected database. */
export function createEngine(
  db: Database,
  {
    runTask = async (task) => {
      throw missingTask(task);
    },
    activity = startMeter().activity,
    beforeClose = async () => {},
  }: EngineOptions = {},
): Engine {
  const close = async () => {
    await beforeClose();
    await db.destroy();
  };
  return {
    db,
    wordIndex,
    readOnReplica: (_minRevision, read) => read(db),
    async requestPurge(trx) {
      await trx
        .insertInto('pending_purges')
        .values({ requested_at: new Date().toISOString() })
        .execute();
    },
    // A transaction has the write lock from its beginning.
    async lockForWriting() {},
    isConflict: () => false,
    isUniqueViolation,
    isUnavailable,
    isStandby: async () => false,
    runTask,
    activity,
    close,
    [Symbol.asyncDispose]: close,
  };
}
