import type { Engine, Target, Task } from '../database/engine.ts';
import { eraseAccount } from '../profile/account-deletion.ts';
import { eraseSpace } from '../spaces/space-deletion.ts';

/** What `Engine.run` can be asked to do. */
export const tasks: Record<Task, (engine: Engine, target: Target) => Promise<void>> = {
  eraseAccount,
  eraseSpace,
};
