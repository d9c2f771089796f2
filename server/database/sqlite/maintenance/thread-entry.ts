import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import type { Tasks } from '../../engine.ts';
import { connect } from '../dialect.ts';
import { createEngine } from '../engine.ts';
import { Maintenance } from './maintenance.ts';
import { TaskRunner } from './task-runner.ts';
import type { ThreadRequest, ThreadSettings } from './thread-messages.ts';

/** How often maintenance checks whether the database has changed. */
const MAINTENANCE_INTERVAL_MS = 250;

const port = parentPort;
if (!port) throw new Error('This module must run in a worker thread.');

const { file, runsMaintenance, tasksModule } = workerData as ThreadSettings;
const tasks = await loadTasks(tasksModule);
const stopping = new AbortController();
const db = connect(file);
const engine = createEngine(db);
const taskRunner = new TaskRunner(engine, tasks, stopping.signal, (response) =>
  port.postMessage(response),
);
const maintenance = new Maintenance(db, file, stopping.signal, {
  refreshDictionary: async () => tasks.refreshDictionary?.(engine),
  eraseDeletedRows: async () => (await tasks.eraseDeletedRows?.(engine, stopping.signal)) ?? true,
});

port.on('message', (request: ThreadRequest) => {
  if (request.kind === 'stop') stopping.abort();
  else taskRunner.enqueue(request);
});

while (!stopping.signal.aborted) {
  if (runsMaintenance) await maintenance.runRound();
  await sleep(MAINTENANCE_INTERVAL_MS);
}
await taskRunner.drain();
await db.destroy();
port.close();

async function loadTasks(module: string | undefined): Promise<Partial<Tasks>> {
  if (module === undefined) return {};
  return (await import(module)).tasks;
}
