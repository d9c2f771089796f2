import type { Tasks } from '../database/engine.ts';
import { eraseAccount } from '../profile/account-deletion.ts';
import { eraseSpace } from '../spaces/space-deletion.ts';

/** What `Engine.runTask` can run. The maintenance thread imports this module by its URL. */
export const tasks: Tasks = { eraseAccount, eraseSpace };

export const tasksModule = new URL(import.meta.url);
