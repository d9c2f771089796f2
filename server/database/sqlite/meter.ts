import type { Activity } from '../engine.ts';

/** Measures how long SQLite calls block this thread, and how long its writers wait. */
export interface Meter {
  activity(): Activity;
  /** Runs a synchronous SQLite call and adds its duration to `busySeconds`. */
  measureBusy<T>(work: () => T): T;
  /** Counts a waiting writer until the promise settles, and adds its waiting time to `waitSeconds`. */
  measureWait(waiting: Promise<unknown>): Promise<void>;
}

export function startMeter(): Meter {
  let busyMs = 0;
  let waitMs = 0;
  let waitingWriters = 0;
  return {
    activity: () => ({
      busySeconds: busyMs / 1000,
      waitSeconds: waitMs / 1000,
      waitingWriters,
      waitingQueries: 0,
    }),
    measureBusy(work) {
      const startedAt = performance.now();
      try {
        return work();
      } finally {
        busyMs += performance.now() - startedAt;
      }
    },
    async measureWait(waiting) {
      const startedAt = performance.now();
      waitingWriters += 1;
      try {
        await waiting;
      } finally {
        waitingWriters -= 1;
        waitMs += performance.now() - startedAt;
      }
    },
  };
}
