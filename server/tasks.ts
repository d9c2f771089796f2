import type { Engine, Target, Task } from './database/engine.ts';
import { eraseAccount } from './profile/deletion.ts';
import { eraseSpace } from './spaces/deletion.ts';

/** What `Engine.run` can be asked to do. */
export const tasks: Record<Task, (engine: Engine, target: Target) => Promise<void>> = {
  eraseAccount,
  eraseSpace,
};
