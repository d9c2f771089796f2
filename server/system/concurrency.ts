import { DomainError } from '../errors.ts';

/** A task that has waited longer fails when its turn comes, because its client has probably given up. */
const MAX_WAIT_MS = 2_000;

/** Runs tasks in the order of the calls, and returns their results. */
export interface Limiter {
  /** @throws DomainError `unavailable` if too many tasks wait, or if the task has waited for more than 2 seconds */
  <T>(task: () => Promise<T>): Promise<T>;
  /** Returns the number of tasks that have not begun. */
  countWaiting(): number;
}

/** Returns a limiter that runs at most `limit` tasks concurrently. Up to `maxWaiting` more wait. */
export function limitConcurrency(limit: number, maxWaiting: number): Limiter {
  const queue: (() => void)[] = [];
  let running = 0;

  async function run<T>(task: () => Promise<T>): Promise<T> {
    if (running === limit && queue.length >= maxWaiting) throw overloaded();
    const enqueuedAt = performance.now();
    if (running < limit) running += 1;
    else await new Promise<void>((begin) => queue.push(begin));
    try {
      if (performance.now() - enqueuedAt > MAX_WAIT_MS) throw overloaded();
      return await task();
    } finally {
      // The next task in the queue takes over the slot, so that a new call cannot overtake it.
      const begin = queue.shift();
      if (begin) begin();
      else running -= 1;
    }
  }

  return Object.assign(run, { countWaiting: () => queue.length });
}

/** Returns the error for work that cannot be done in time. */
export function overloaded(): DomainError {
  return new DomainError('unavailable', 'The service is overloaded. Try again in a few seconds.');
}
