import { DomainError } from '../errors.ts';

/** A task that has waited longer fails when its turn comes, because its client has probably given up. */
const MAX_WAIT_MS = 2_000;

/** Whose work a task is, and how long it roughly takes, in any unit. */
interface Share {
  account: string;
  cost: number;
}

/** Runs tasks, and returns their results. */
export interface Limiter {
  /**
   * Tasks without a share run in the order of the calls. Otherwise, cheap tasks run before expensive ones, and accounts
   * with many tasks get no more time than others.
   * @throws DomainError `unavailable` if too many tasks wait, or if the task has waited for more than 2 seconds
   */
  <T>(task: () => Promise<T>, share?: Share): Promise<T>;
  /** Returns the number of tasks that have not begun. */
  countWaiting(): number;
}

const NO_SHARE: Share = { account: '', cost: 0 };

interface WaitingTask {
  rank: number;
  share: Share;
  begin: () => void;
  reject: (error: DomainError) => void;
}

/**
 * Returns a limiter that runs at most `limit` tasks concurrently. Up to `maxWaiting` more wait. Beyond that, the last
 * one in their order is rejected.
 *
 * The order is that of self-clocked fair queueing. A task's rank is the virtual time at which it would end if all
 * accounts shared the slot evenly. The lowest rank is next. The virtual time is the rank of the task that began last.
 */
export function limitConcurrency(limit: number, maxWaiting: number): Limiter {
  const queue: WaitingTask[] = [];
  /** The highest rank of each account, if it is later than the virtual time. */
  const ranks = new Map<string, number>();
  let virtualTime = 0;
  let running = 0;

  function waitForSlot(rank: number, share: Share): Promise<void> {
    return new Promise((begin, reject) => {
      const index = queue.findIndex((each) => each.rank > rank);
      queue.splice(index === -1 ? queue.length : index, 0, { rank, share, begin, reject });
      const last = queue.length > maxWaiting ? queue.pop() : undefined;
      if (!last) return;
      takeBack(last.share);
      last.reject(overloaded());
    });
  }

  /** Takes back a task that does not run. Otherwise, an account would lose its place by trying again. */
  function takeBack({ account, cost }: Share): void {
    const rank = ranks.get(account);
    if (rank !== undefined) ranks.set(account, rank - cost);
  }

  function advanceTo(time: number): void {
    virtualTime = Math.max(virtualTime, time);
    for (const [account, rank] of ranks) if (rank <= virtualTime) ranks.delete(account);
  }

  async function run<T>(task: () => Promise<T>, share = NO_SHARE): Promise<T> {
    const { account, cost } = share;
    const enqueuedAt = performance.now();
    const start = Math.max(virtualTime, ranks.get(account) ?? 0);
    ranks.set(account, start + cost);
    if (running < limit) running += 1;
    else await waitForSlot(start + cost, share);
    try {
      if (performance.now() - enqueuedAt > MAX_WAIT_MS) {
        takeBack(share);
        throw overloaded();
      }
      advanceTo(start + cost);
      return await task();
    } finally {
      // The next task in the queue takes over the slot, so that a new call cannot overtake it.
      const next = queue.shift();
      if (next) next.begin();
      else running -= 1;
      // Nobody waits, so earlier work must not delay anyone later.
      if (running === 0) ranks.clear();
    }
  }

  return Object.assign(run, { countWaiting: () => queue.length });
}

/** Returns the error for work that cannot be done in time. */
export function overloaded(): DomainError {
  return new DomainError('unavailable', 'The service is overloaded. Try again in a few seconds.');
}
