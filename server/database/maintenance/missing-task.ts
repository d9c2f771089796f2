import type { TaskName } from '../engine.ts';

export function missingTask(task: TaskName): Error {
  return new Error(`The database was opened without a tasksModule, so it cannot run ${task}.`);
}
