import type { Activity } from '../engine.ts';

/** Measures what this thread does with a database, and how long its writers wait to do it. */
export interface Meter {
  activity(): Activity;
  /** Counts the time of what runs inside SQLite, which nothing else in this thread can use. */
  busy<T>(work: () => T): T;
  /** Counts the time that a writer waits. */
  wait(turn: Promise<unknown>): Promise<void>;
}

export function startMeter(): Meter {
  let [busy, waited, waiting] = [0, 0, 0];
  return {
    activity: () => ({
      busySeconds: busy / 1000,
      waitSeconds: waited / 1000,
      waitingWriters: waiting,
    }),
    busy(work) {
      const begun = performance.now();
      try {
        return work();
      } finally {
        busy += performance.now() - begun;
      }
    },
    async wait(turn) {
      const begun = performance.now();
      waiting += 1;
      try {
        await turn;
      } finally {
        waiting -= 1;
        waited += performance.now() - begun;
      }
    },
  };
}
