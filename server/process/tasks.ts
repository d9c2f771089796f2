import type { Engine, TaskName, TaskTarget } from '../database/engine.ts';
import { eraseAccount } from '../profile/account-deletion.ts';
import { eraseSpace } from '../spaces/space-deletion.ts';

/** What `Engine.runTask` can be asked to do. */
export const tasks: Record<TaskName, (engine: Engine, target: TaskTarget) => Promise<void>> = {
  eraseAccount,
  eraseSpace,
};
