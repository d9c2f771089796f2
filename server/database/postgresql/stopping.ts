import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StopDeadline } from '../kind.ts';
import type { MaintenanceThread } from '../maintenance/maintenance-thread.ts';
import { stoppingError } from './errors.ts';

/** Time after the deadline in which the thread can still end by itself. */
const THREAD_STOP_MARGIN_MS = 1_000;

/** Settles like `task`, but rejects at the deadline. Does not end the task. */
export async function failAtDeadline(
  task: Promise<void>,
  stopDeadline: StopDeadline | undefined,
): Promise<void> {
  if (!stopDeadline) return task;
  const { promise: missed, reject } = Promise.withResolvers<never>();
  const miss = () => {
    stopDeadline.onMissed();
    reject(stoppingError('The service is stopping.'));
  };
  stopDeadline.signal.addEventListener('abort', miss);
  if (stopDeadline.signal.aborted) miss();
  try {
    await Promise.race([task, missed]);
  } finally {
    stopDeadline.signal.removeEventListener('abort', miss);
  }
}

/** Stops the maintenance thread, and terminates it after the deadline. PostgreSQL then rolls its transactions back. */
export async function stopThread(
  thread: MaintenanceThread,
  stopDeadline: StopDeadline | undefined,
): Promise<void> {
  const stopped = thread.stop();
  if (!stopDeadline) return stopped;
  const { signal } = stopDeadline;
  const passed = signal.aborted ? Promise.resolve() : once(signal, 'abort');
  const isLate = await Promise.race([
    stopped.then(() => false),
    passed.then(() => sleep(THREAD_STOP_MARGIN_MS, true)),
  ]);
  if (!isLate) return;
  stopDeadline.onMissed();
  await thread.terminate();
}
