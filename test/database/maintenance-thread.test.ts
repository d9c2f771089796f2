import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { MaintenanceThread } from '../../server/database/maintenance/maintenance-thread.ts';
import { waitUntil } from '../support/wait-until.ts';

/**
 * A thread that appends a byte to the file `database` when it starts. It then crashes if the file with the suffix
 * `.crashes` exists. Each task crashes it if the file with the suffix `.crashesInTask` exists.
 */
const ENTRY = `
  import { appendFileSync, existsSync } from 'node:fs';
  import { parentPort, workerData } from 'node:worker_threads';
  const { database } = workerData;
  appendFileSync(database, '.');
  if (existsSync(database + '.crashes')) throw new Error('Crashed at its start.');
  parentPort.on('message', ({ kind, requestId }) => {
    if (kind === 'stop') return parentPort.close();
    if (existsSync(database + '.crashesInTask')) throw new Error('Crashed in a task.');
    parentPort.postMessage({ requestId });
  });`;

/** The delay before a restart. */
const DELAY_MS = 1_000;

let dataDir: string;
let database: string;
let thread: MaintenanceThread;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'maintenance-thread-'));
  database = join(dataDir, 'starts');
  appendFileSync(database, '');
  vi.spyOn(process, 'emitWarning').mockReturnValue();
});
afterEach(async () => {
  await thread.terminate();
  vi.restoreAllMocks();
  vi.useRealTimers();
  await rm(dataDir, { recursive: true });
});

const startThread = () => {
  const entry = new URL(`data:text/javascript,${encodeURIComponent(ENTRY)}`);
  const settings = { database, runsMaintenance: true, tasksModule: undefined };
  const unavailable = (message: string) => Object.assign(new Error(message), { code: 'STOPPED' });
  thread = new MaintenanceThread(entry, settings, unavailable);
};

const countStarts = () => readFileSync(database, 'utf8').length;

const runTask = () => thread.runTask('eraseSpace', { pk: 1, sessionPk: 1 });

/** Starts a thread that crashes, and returns while the main thread waits before the restart, with fake timers. */
const startCrashingThread = async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  writeFileSync(`${database}.crashes`, '');
  startThread();
  await waitUntil('the thread has crashed', isRestartPending);
};

const isRestartPending = () => vi.getTimerCount() === 1;

describe('A thread that crashes at its start', () => {
  test('is restarted once per second', async () => {
    await startCrashingThread();
    for (const starts of [2, 3]) {
      vi.advanceTimersByTime(DELAY_MS - 1);
      expect(isRestartPending()).toBe(true);
      vi.advanceTimersByTime(1);
      await waitUntil('the thread has been restarted', () => countStarts() === starts);
      await waitUntil('the thread has crashed again', isRestartPending);
    }
  });

  test('runs the tasks that were requested before its restart', async () => {
    await startCrashingThread();
    const tasks = Promise.all([runTask(), runTask()]);
    rmSync(`${database}.crashes`);
    vi.advanceTimersByTime(DELAY_MS);
    await tasks;
    expect(countStarts()).toBe(2);
    await runTask();
  });

  test('rejects waiting tasks if it crashes again', async () => {
    await startCrashingThread();
    const rejection = expect(runTask()).rejects.toThrow('Crashed at its start.');
    vi.advanceTimersByTime(DELAY_MS);
    await rejection;
  });

  test.each(['stop', 'terminate'] as const)(
    'is not restarted after %s, which does not wait and rejects waiting tasks',
    async (method) => {
      await startCrashingThread();
      const rejection = expect(runTask()).rejects.toMatchObject({ code: 'STOPPED' });
      await thread[method]();
      await rejection;
      expect(isRestartPending()).toBe(false);
      expect(countStarts()).toBe(1);
    },
  );
});

test('A thread that crashes later is restarted at once', async () => {
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
  startThread();
  await runTask();
  writeFileSync(`${database}.crashesInTask`, '');
  vi.advanceTimersByTime(60_000);
  await expect(runTask()).rejects.toThrow('Crashed in a task.');
  rmSync(`${database}.crashesInTask`);
  // Only a restart without a delay happens now.
  vi.advanceTimersByTime(0);
  expect(vi.getTimerCount()).toBe(0);
  await runTask();
  expect(countStarts()).toBe(2);
});

test.each(['stop', 'terminate'] as const)(
  'After %s, a task is rejected, and the thread is not restarted',
  async (method) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    startThread();
    await runTask();
    await thread[method]();
    await expect(runTask()).rejects.toMatchObject({ code: 'STOPPED' });
    expect(isRestartPending()).toBe(false);
    expect(countStarts()).toBe(1);
  },
);
