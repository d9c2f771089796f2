import type { Database, Engine, TaskName } from '../engine.ts';
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
    readDb: db,
    wordIndex,
    isUniqueViolation,
    isUnavailable,
    runTask,
    activity,
    close,
    [Symbol.asyncDispose]: close,
  };
}

export function missingTask(task: TaskName): Error {
  return new Error(`The database was opened without a tasksModule, so it cannot run ${task}.`);
}
