import type { FastifyBaseLogger } from 'fastify';
import { deleteExpiredSessions } from '../auth/sessions.ts';
import { removeDiscardedPictures } from '../avatars/discarded-avatars.ts';
import type { AvatarStore } from '../avatars/store.ts';
import type { Config } from '../config.ts';
import type { Engine } from '../database/engine.ts';
import type { RateLimits } from '../rate-limits/rate-limits.ts';

const INTERVAL = 10 * 60_000;

/** Nothing of it fails: what could not be done is logged, and tried again later. */
export interface Housekeeping {
  /** Does now whatever is due. */
  run(): Promise<void>;
  /** Removes now the files of discarded pictures. */
  removePictures(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Removes what nobody needs any more, now and then: files of discarded pictures, sessions that have run out, counts of
 * limits that are over.
 */
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
      log.error({ err: error }, 'housekeeping failed, and will be tried again');
    }
  };

  let last = Promise.resolve();
  let next: Promise<void> | undefined;
  const removePictures = () => {
    // Whatever is due by the time it begins is done, so that one run waiting is enough for all who ask.
    next ??= last.then(async () => {
      next = undefined;
      await attempt(() => removeDiscardedPictures(engine, avatars));
    });
    last = next;
    return last;
  };
  const run = () => {
    last = removePictures().then(async () => {
      await attempt(() => deleteExpiredSessions(engine, config.sessions));
      await attempt(async () => rateLimits.deleteExpired());
    });
    return last;
  };
  const timer = setInterval(run, INTERVAL).unref();
  void run();
  return {
    run,
    removePictures,
    async stop() {
      clearInterval(timer);
      await last;
    },
  };
}
