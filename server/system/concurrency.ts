import { DomainError } from '../errors.ts';

/** A task whose turn comes later than this is refused, in milliseconds: by then, whoever asked may have given up. */
const MAX_WAIT = 2_000;

/** Runs a task when its turn comes, in the order of asking, and answers with what the task does. */
export interface Limiter {
  /** @throws DomainError `unavailable`, of a task that has not begun */
  <T>(task: () => Promise<T>): Promise<T>;
  /** How many tasks have not begun yet. */
  waiting(): number;
}

/** Makes a limiter that lets `limit` tasks run at a time and `maxWaiting` wait, for 2 seconds at most. */
export function limitConcurrency(limit: number, maxWaiting: number): Limiter {
  const queue: (() => void)[] = [];
  let running = 0;

  async function run<T>(task: () => Promise<T>): Promise<T> {
    if (running === limit && queue.length >= maxWaiting) throw overloaded();
    const asked = performance.now();
    if (running < limit) running += 1;
    else await new Promise<void>((begin) => queue.push(begin));
    try {
      if (performance.now() - asked > MAX_WAIT) throw overloaded();
      return await task();
    } finally {
      // The place passes to the next in line, so that no newcomer can take it in between.
      const begin = queue.shift();
      if (begin) begin();
      else running -= 1;
    }
  }

  return Object.assign(run, { waiting: () => queue.length });
}

/** The refusal of work beyond what can be done in time. */
export function overloaded(): DomainError {
  return new DomainError(
    'unavailable',
    'The service has more to do than it can. Try again in a few seconds.',
  );
}
