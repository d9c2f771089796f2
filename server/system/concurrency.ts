import { DomainError } from '../errors.ts';
import { FairQueue } from './fair-queue.ts';
import { currentSender, type Sender } from './senders.ts';

/** Work that has waited longer fails when its turn comes, because its client has probably given up. */
export const MAX_WAIT_MS = 2_000;

/** A network counts as active for this long after its last task. */
const ACTIVE_MS = 1_000;

/** Runs tasks, and returns their results. */
export interface Limiter {
  /**
   * Senders take turns, and have the same time if all have tasks that wait.
   * @throws DomainError `unavailable` if too many tasks wait, or if the task has waited for too long
   */
  <T>(task: () => Promise<T>): Promise<T>;
  /**
   * Waits until a task may begin. Its end must be reported by calling the returned function once.
   * @throws like the function itself
   */
  begin(): Promise<() => void>;
  /** Returns the number of tasks that have not begun. */
  countWaiting(): number;
}

interface LimiterOptions {
  /** Maximum number of tasks that run. */
  limit: number;
  /** Maximum number of tasks that wait. Beyond it, the newest one of the sender with the most of them fails. */
  maxWaiting: number;
  /** By default, 2 seconds. */
  maxWaitMs?: number;
  /** Maximum number of tasks of one network that run while other networks are active. By default, all. */
  maxBesideOthers?: number;
}

interface WaitingTask {
  sender: Sender;
  enqueuedAt: number;
  begin: () => void;
  reject: (error: DomainError) => void;
}

export function limitConcurrency({
  limit,
  maxWaiting,
  maxWaitMs = MAX_WAIT_MS,
  maxBesideOthers = limit,
}: LimiterOptions): Limiter {
  const queue = new FairQueue<WaitingTask>();
  /** The active networks. The one that began or ended a task last is last. */
  const networks = new Map<string, { running: number; usedAt: number }>();
  let running = 0;

  function countRunning(network: string, change: 1 | -1): void {
    const count = (networks.get(network)?.running ?? 0) + change;
    const now = performance.now();
    networks.delete(network);
    networks.set(network, { running: count, usedAt: now });
    running += change;
    for (const [each, { running, usedAt }] of networks) {
      if (running > 0 || now - usedAt < ACTIVE_MS) break;
      networks.delete(each);
    }
  }

  function mayBegin(network: string): boolean {
    const used = networks.get(network);
    const isAlone = networks.size === (used ? 1 : 0);
    return isAlone || (used?.running ?? 0) < maxBesideOthers;
  }

  function beginNext(): void {
    while (running < limit) {
      const next = queue.next(mayBegin);
      if (!next) return;
      if (performance.now() - next.enqueuedAt > maxWaitMs) {
        next.reject(overloaded());
        continue;
      }
      countRunning(next.sender.network, 1);
      next.begin();
    }
  }

  function shed(): void {
    const newest = queue.longestLine().at(-1);
    if (!newest) return;
    queue.remove(newest.sender, newest);
    newest.reject(overloaded());
  }

  async function begin(): Promise<() => void> {
    const sender = currentSender();
    await new Promise<void>((begin, reject) => {
      queue.add(sender, { sender, enqueuedAt: performance.now(), begin, reject });
      beginNext();
      if (queue.size > maxWaiting) shed();
    });
    const begunAt = performance.now();
    return () => {
      countRunning(sender.network, -1);
      queue.charge(sender, performance.now() - begunAt);
      beginNext();
    };
  }

  async function run<T>(task: () => Promise<T>): Promise<T> {
    const end = await begin();
    try {
      return await task();
    } finally {
      end();
    }
  }

  return Object.assign(run, { begin, countWaiting: () => queue.size });
}

/** Returns the error for work that cannot be done in time. */
export function overloaded(): DomainError {
  return new DomainError('unavailable', 'The service is overloaded. Try again in a few seconds.');
}
