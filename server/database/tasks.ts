import { eraseAccount } from '../profile/deletion.ts';
import { eraseSpace } from '../spaces/deletion.ts';
import type { Engine } from './engine.ts';

/** Work that takes too long for the thread that answers requests; the engine decides where it runs. */
export const tasks = { eraseAccount, eraseSpace } satisfies Record<string, (engine: Engine, input: never) => Promise<void>>;

export type Task = keyof typeof tasks;
export type TaskInput<T extends Task> = Parameters<(typeof tasks)[T]>[1];
