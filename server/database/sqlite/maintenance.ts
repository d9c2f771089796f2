import { Worker } from 'node:worker_threads';
import { DomainError, type ErrorCode } from '../../errors.ts';
import type { Engine, TaskName, TaskTarget } from '../engine.ts';

/** What the thread is told when it starts. */
export interface MaintenanceSettings {
  file: string;
  runsMaintenance: boolean;
}

/** A task for the thread, or the wish that it ends. */
export type Order =
  | { kind: 'run'; order: number; task: TaskName; target: TaskTarget }
  | { kind: 'stop' };

/** That a task has ended: well, or with what it threw. */
export interface Outcome {
  order: number;
  error?: { name: string; message: string; code?: string };
}

/** Starts the thread that does what would hold up requests: erasures, index merges, cutting the log. */
export function startMaintenance(settings: MaintenanceSettings): {
  runTask: Engine['runTask'];
  stop: () => Promise<void>;
} {
  const waiting = new Map<number, { resolve: () => void; reject: (error: Error) => void }>();
  let last = 0;
  let stopping = false;
  let exited: Promise<void>;
  let worker = start();

  function start(): Worker {
    const thread = new Worker(new URL('./maintenance-thread.ts', import.meta.url), {
      workerData: settings,
    });
    let failure = new Error('The maintenance thread has ended.');
    thread.on('message', ({ order, error }: Outcome) => {
      const task = waiting.get(order);
      waiting.delete(order);
      if (!error) task?.resolve();
      else task?.reject(revive(error));
    });
    thread.on('error', (error: Error) => {
      failure = error;
      process.emitWarning(error);
    });
    exited = new Promise((resolve) => {
      thread.on('exit', () => {
        for (const { reject } of waiting.values()) reject(failure);
        waiting.clear();
        if (!stopping) worker = start();
        resolve();
      });
    });
    return thread;
  }

  return {
    runTask: (task, target) =>
      new Promise((resolve, reject) => {
        const order = ++last;
        waiting.set(order, { resolve, reject });
        worker.postMessage({ kind: 'run', order, task, target } satisfies Order);
      }),
    async stop() {
      stopping = true;
      worker.postMessage({ kind: 'stop' } satisfies Order);
      await exited;
    },
  };
}

/** An error as it was in the thread, but for its class, which is lost on the way. A refusal is one again. */
function revive({ name, message, code }: NonNullable<Outcome['error']>): Error {
  if (name === 'DomainError') return new DomainError(code as ErrorCode, message);
  return Object.assign(new Error(message), { name, code });
}
