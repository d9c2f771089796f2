import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import type { Engine, IndexEngine, Indexer, Tasks } from '../engine.ts';
import { TaskRunner } from './task-runner.ts';
import type {
  ThreadAnnouncement,
  ThreadRequest,
  ThreadSettings,
  ThreadWarning,
} from './thread-messages.ts';

/** Time between two rounds of maintenance. */
const MAINTENANCE_INTERVAL_MS = 250;

/** The domain functions that maintenance calls. */
export interface MaintenanceTasks {
  /** Returns false if words of deleted spaces in the word index have prevented it. */
  refreshDictionary(index?: IndexEngine): Promise<boolean>;
  /** Returns whether no rows are left to erase. */
  eraseDeletedRows(): Promise<boolean>;
  /** See `Tasks.indexMessages`. Not for a copy of the search index. */
  indexMessages?(): Promise<boolean>;
  /** See `Tasks.fillIndex`. */
  fillIndex?(): Promise<boolean>;
  indexer?: Indexer | undefined;
}

export interface Maintenance {
  /** Does pending work. Called repeatedly. */
  runRound(): Promise<void>;
  /** Lets another process run maintenance. Called after the last round, even if that round has failed. */
  stop?(): Promise<void>;
}

/** The parts of the thread that depend on the kind of database. */
interface ThreadWork {
  engine: Engine;
  createMaintenance(tasks: MaintenanceTasks, stopping: AbortSignal): Maintenance;
  /** Creates an error for which `Engine.isUnavailable` returns true. */
  unavailableError: (message: string) => Error;
}

/** The settings of the current thread. */
export const settings = workerData as ThreadSettings;

const stopping = new AbortController();

/** Aborted by a stop request. */
export const stopSignal = stopping.signal;

/** Runs tasks and maintenance in the current thread until a stop request. Then closes the engine. */
export async function runThread(work: ThreadWork): Promise<void> {
  const { unavailableError } = work;
  const port = parentPort;
  if (!port) throw new Error('This module must run in a worker thread.');
  const announceEvent = (subject: string) => {
    port.postMessage({ subject } satisfies ThreadAnnouncement);
  };
  const engine = { ...work.engine, announceEvent };
  const { runsMaintenance, tasksModule } = settings;
  const tasks = await loadTasks(tasksModule);
  const respond = port.postMessage.bind(port);
  const taskRunner = new TaskRunner(engine, tasks, stopSignal, respond, unavailableError);
  const receive = (request: ThreadRequest) => {
    if (request.kind === 'stop') stopping.abort();
    else taskRunner.enqueue(request);
  };
  port.on('message', receive);
  // Otherwise, Node.js would print them as plain text.
  process.removeAllListeners('warning');
  process.on('warning', ({ message: warning }) =>
    port.postMessage({ warning } satisfies ThreadWarning),
  );

  const maintenanceTasks = {
    refreshDictionary: async (index = engine) => (await tasks.refreshDictionary?.(index)) ?? true,
    eraseDeletedRows: async () => (await tasks.eraseDeletedRows?.(engine, stopSignal)) ?? true,
    indexMessages: async () => (await tasks.indexMessages?.(engine, stopSignal)) ?? true,
    fillIndex: async () => (await tasks.fillIndex?.(engine)) ?? false,
    indexer: tasks.indexer,
  };
  const maintenance = work.createMaintenance(maintenanceTasks, stopSignal);
  while (!stopSignal.aborted) {
    try {
      if (runsMaintenance) await maintenance.runRound();
    } catch (error) {
      // On PostgreSQL, this releases the lease. Otherwise, the restarted thread would wait until it expires, because
      // its holder id differs. If this fails, too, the first error is the one to report.
      if (runsMaintenance) await maintenance.stop?.().catch(() => {});
      // This error ends the thread. Maintenance may fail again after every restart, but tasks must run nevertheless.
      for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port)) {
        receive(next.message);
      }
      await taskRunner.drain();
      throw error;
    }
    await sleep(MAINTENANCE_INTERVAL_MS);
  }
  await taskRunner.drain();
  if (runsMaintenance) await maintenance.stop?.();
  await engine.close();
  port.close();
}

async function loadTasks(module: string | undefined): Promise<Partial<Tasks>> {
  if (module === undefined) return {};
  return (await import(module)).tasks;
}
