import type { FastifyBaseLogger } from 'fastify';
import { deleteExpiredSessions } from './auth/sessions.ts';
import type { AvatarStore } from './avatars/store.ts';
import type { Config } from './config.ts';
import type { Engine } from './database/engine.ts';
import { removeDiscardedPictures } from './profile/picture.ts';

const INTERVAL = 10 * 60_000;

export interface Housekeeping {
  /** Does now what is due. Never fails: what could not be done is logged, and tried again later. */
  run(): Promise<void>;
  stop(): Promise<void>;
}

/** Removes what nobody needs any more, now and then: files of discarded pictures, sessions that have run out. */
export function startHousekeeping({
  config,
  log,
  engine,
  avatars,
}: {
  config: Pick<Config, 'sessions'>;
  log: FastifyBaseLogger;
  engine: Engine;
  avatars: AvatarStore;
}): Housekeeping {
  let last = Promise.resolve();
  let next: Promise<void> | undefined;
  const run = () => {
    // Whatever is due by the time it begins is done, so that one run waiting is enough for all who ask.
    next ??= last.then(async () => {
      next = undefined;
      try {
        await removeDiscardedPictures(engine, avatars);
        await deleteExpiredSessions(engine, config.sessions);
      } catch (error) {
        log.error({ err: error }, 'housekeeping failed, and will be tried again');
      }
    });
    last = next;
    return last;
  };
  const timer = setInterval(run, INTERVAL).unref();
  void run();
  return {
    run,
    async stop() {
      clearInterval(timer);
      await last;
    },
  };
}
