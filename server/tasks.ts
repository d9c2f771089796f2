import type { Engine, Target, Task } from './database/engine.ts';
import { eraseAccount } from './profile/account-deletion.ts';
import { eraseSpace } from './spaces/space-deletion.ts';

/** The tasks of `Engine.run`. They run in the maintenance thread. */
export const tasks: Record<Task, (engine: Engine, target: Target) => Promise<void>> = {
  eraseAccount,
  eraseSpace,
};
