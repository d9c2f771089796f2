import type { Engine, Task } from './database/engine.ts';
import { eraseAccount } from './profile/deletion.ts';
import { eraseSpace } from './spaces/deletion.ts';

/** What `Engine.run` can be asked to do, to the row with this internal number. */
export const tasks: Record<Task, (engine: Engine, id: number) => Promise<void>> = {
  eraseAccount,
  eraseSpace,
};
