import type { FastifyBaseLogger } from 'fastify';
import { deleteExpiredSessions } from './auth/sessions.ts';
import { removeDiscardedAvatars } from './avatars/discarded-avatars.ts';
import type { AvatarStore } from './avatars/store.ts';
import type { Config } from './config.ts';
import type { Engine } from './database/engine.ts';
import type { RateLimits } from './rate-limits/rate-limits.ts';

const HOUSEKEEPING_INTERVAL_MS = 10 * 60_000;

/** Deletes expired data. Its functions never reject: failures are logged, and the work is retried at the next run. */
export interface Housekeeping {
  /** Deletes everything that is due. */
  run(): Promise<void>;
  /** Deletes the files of discarded avatars. */
  deleteDiscardedAvatars(): Promise<void>;
  /** Resolves when pending work is done. */
  stop(): Promise<void>;
}

/** Starts to delete, at regular intervals, discarded avatars, expired sessions and expired rate-limit counters. */
export function startHousekeeping({
  config,
  log,
  engine,
  avatars,
  rateLimits,
}: {
  config: Pick<Config, 'sessions'>;
  log: FastifyBaseLogger;
  engine: Engine;
  avatars: AvatarStore;
  rateLimits: Pick<RateLimits, 'deleteExpired'>;
}): Housekeeping {
  const attempt = async (work: () => Promise<void>) => {
    try {
      await work();
    } catch (error) {
      log.error({ err: error }, 'housekeeping failed and will be retried');
    }
  };

  let lastRun = Promise.resolve();
  let waitingRemoval: Promise<void> | undefined;
  const deleteDiscardedAvatars = () => {
    // A removal that has not begun will also remove what was discarded since, so one is enough for all callers.
    if (!waitingRemoval) {
      waitingRemoval = lastRun.then(async () => {
        waitingRemoval = undefined;
        await attempt(() => removeDiscardedAvatars(engine, avatars));
      });
      lastRun = waitingRemoval;
    }
    return waitingRemoval;
  };
  const run = () => {
    lastRun = deleteDiscardedAvatars().then(async () => {
      await attempt(() => deleteExpiredSessions(engine, config.sessions));
      await attempt(async () => rateLimits.deleteExpired());
    });
    return lastRun;
  };

  const timer = setInterval(run, HOUSEKEEPING_INTERVAL_MS).unref();
  void run();
  return {
    run,
    deleteDiscardedAvatars,
    async stop() {
      clearInterval(timer);
      await lastRun;
    },
  };
}
