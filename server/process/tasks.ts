import type { Tasks } from '../database/engine.ts';
import { eraseAccount } from '../profile/account-deletion.ts';
import { eraseSpace } from '../spaces/space-deletion.ts';

/** The tasks of `Engine.runTask`. The maintenance thread imports this module from `tasksModule`. */
export const tasks: Tasks = { eraseAccount, eraseSpace };

export const tasksModule = new URL(import.meta.url);
