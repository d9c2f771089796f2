import { DomainError } from '../errors.ts';

/** A task that has waited longer fails when its turn comes, because its client has probably given up. */
const MAX_WAIT_MS = 2_000;

/** Runs tasks, and returns their results. */
export interface Limiter {
  /**
   * @param cost of tasks that wait, the cheapest runs next; those of equal cost run in the order of the calls
   * @throws DomainError `unavailable` if too many tasks wait that cost no more, or if the task has waited for more than
   *   2 seconds
   */
  <T>(task: () => Promise<T>, cost?: number): Promise<T>;
  /** Returns the number of tasks that have not begun. */
  countWaiting(): number;
}

interface WaitingTask {
  cost: number;
  begin: () => void;
  reject: (error: DomainError) => void;
}

/** Returns a limiter that runs at most `limit` tasks concurrently. Up to `maxWaiting` more wait. */
export function limitConcurrency(limit: number, maxWaiting: number): Limiter {
  /** The cheapest first. */
  const queue: WaitingTask[] = [];
  let running = 0;

  function waitForSlot(cost: number): Promise<void> {
    return new Promise((begin, reject) => {
      const index = queue.findIndex((each) => each.cost > cost);
      queue.splice(index === -1 ? queue.length : index, 0, { cost, begin, reject });
      if (queue.length > maxWaiting) queue.pop()?.reject(overloaded());
    });
  }

  async function run<T>(task: () => Promise<T>, cost = 0): Promise<T> {
    const enqueuedAt = performance.now();
    if (running < limit) running += 1;
    else await waitForSlot(cost);
    try {
      if (performance.now() - enqueuedAt > MAX_WAIT_MS) throw overloaded();
      return await task();
    } finally {
      // The next task in the queue takes over the slot, so that a new call cannot overtake it.
      const next = queue.shift();
      if (next) next.begin();
      else running -= 1;
    }
  }

  return Object.assign(run, { countWaiting: () => queue.length });
}

/** Returns the error for work that cannot be done in time. */
export function overloaded(): DomainError {
  return new DomainError('unavailable', 'The service is overloaded. Try again in a few seconds.');
}
