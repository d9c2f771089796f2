import { FairQueue } from '../../system/fair-queue.ts';
import { currentSender, type Sender } from '../../system/senders.ts';
import type { Activity } from '../engine.ts';
import { busyError, isDamage } from './errors.ts';

/** Measures how long SQLite calls block this thread, and how long its writers wait. */
export interface Meter {
  activity(): Activity;
  /** Runs a synchronous SQLite call and adds its duration to `busySeconds`. */
  measureBusy<T>(work: () => T): T;
  /** Counts a waiting writer until the promise settles, and adds its waiting time to `waitSeconds`. */
  measureWait(waiting: Promise<unknown>): Promise<void>;
}

/** @param onDamage called when a call shows that the database is damaged */
export function startMeter(onDamage = () => {}): Meter {
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
      } catch (error) {
        if (isDamage(error)) onDamage();
        throw error;
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

/** A mutex for the writers of this process. Senders take turns. */
export class Mutex {
  /** Who has locked it, and when. Undefined if it is unlocked. */
  #lock: { sender: Sender; acquiredAt: number } | undefined;
  readonly #waiters = new FairQueue<() => void>();
  readonly #meter: Meter;

  constructor(meter: Meter) {
    this.#meter = meter;
  }

  get isLocked(): boolean {
    return this.#lock !== undefined;
  }

  get hasWaiters(): boolean {
    return this.#waiters.size > 0;
  }

  /**
   * Waits until the mutex is unlocked, and locks it.
   * @param deadline as of `performance.now()`
   * @throws `SQLITE_BUSY` after the deadline
   */
  async acquire(deadline: number): Promise<void> {
    const sender = currentSender();
    if (this.#lock) await this.#meter.measureWait(this.#enqueue(sender, deadline));
    this.#lock = { sender, acquiredAt: performance.now() };
  }

  /**
   * Unlocks the mutex. If there are waiters, it stays locked and passes to the next one, so that a new caller cannot
   * acquire it first.
   */
  release(): void {
    if (this.#lock) {
      this.#waiters.charge(this.#lock.sender, performance.now() - this.#lock.acquiredAt);
    }
    const next = this.#waiters.next();
    if (next) next();
    else this.#lock = undefined;
  }

  #enqueue(sender: Sender, deadline: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const wake = () => {
        clearTimeout(timer);
        resolve();
      };
      const expire = () => {
        this.#waiters.remove(sender, wake);
        reject(busyError('The database was locked by other writers for too long.'));
      };
      const timer = setTimeout(expire, deadline - performance.now());
      this.#waiters.add(sender, wake);
    });
  }
}
