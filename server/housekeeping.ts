import type { FastifyBaseLogger } from 'fastify';
import { deleteExpiredKeys } from './accounts/idempotency-keys.ts';
import { deleteExpiredSessions } from './auth/sessions.ts';
import { removeDiscardedAvatars } from './avatars/discarded-avatars.ts';
import type { AvatarStore } from './avatars/store.ts';
import { removeUnusedAvatars } from './avatars/unused-avatars.ts';
import type { Config } from './config.ts';
import type { Engine } from './database/engine.ts';
import { OperatorError } from './errors.ts';
import { deleteExpiredLinks } from './mail/links.ts';
import { deleteExpiredMails } from './mail/outbox.ts';
import { countUnexamined } from './message-words/indexing.ts';
import { deleteExpiredChanges } from './messages/message-order.ts';
import type { RateLimits } from './rate-limits/rate-limits.ts';
import { deleteExpiredEnds } from './spaces/ended-participations.ts';
import type { OutageLog } from './system/outage-log.ts';

const HOUSEKEEPING_INTERVAL_MS = 10 * 60_000;

/** Maintenance indexes as many messages within a minute. */
const MIN_REPORTED_MESSAGES = 100_000;

/**
 * Deletes expired data. Runs in every process that serves requests, unlike the maintenance of the database files.
 *
 * Its functions never reject: failures are logged, and the work is retried at the next run.
 */
export interface Housekeeping {
  /** Removes discarded and unused avatars, and expired sessions, message changes, ends of participations, idempotency keys, links and counters. */
  run(): Promise<void>;
  /** Removes the files of discarded avatars. */
  removeDiscardedAvatars(): Promise<void>;
  /** Cancels future runs. Resolves when pending work is done. */
  stop(): Promise<void>;
}

/** Starts housekeeping: one run now, and one every 10 minutes. */
export function startHousekeeping({
  config,
  log,
  engine,
  avatars,
  rateLimits,
  outageLog,
}: {
  config: Pick<Config, 'sessions'>;
  log: FastifyBaseLogger;
  engine: Engine;
  avatars: AvatarStore;
  rateLimits: Pick<RateLimits, 'deleteExpired'>;
  outageLog: Pick<OutageLog, 'report'>;
}): Housekeeping {
  // The operator must correct the settings of a bucket that belongs to another database.
  const isTemporary = (error: unknown) =>
    avatars.isUnavailable(error) && !(error instanceof OperatorError);
  const attempt = async (work: () => Promise<void>) => {
    try {
      await work();
    } catch (error) {
      // Removals fail with one error for each avatar.
      const cause = error instanceof AggregateError ? error.errors[0] : error;
      if (engine.isUnavailable(cause)) outageLog.report('database', cause);
      else if (isTemporary(cause)) outageLog.report('avatar storage', cause);
      else log.error({ err: error }, 'housekeeping failed and will be retried');
    }
  };

  let pendingWork = Promise.resolve();
  let queuedRemoval: Promise<void> | undefined;
  const enqueueRemoval = () => {
    // Callers share a removal that has not begun, because it will include avatars discarded in the meantime.
    if (!queuedRemoval) {
      queuedRemoval = pendingWork.then(async () => {
        queuedRemoval = undefined;
        await attempt(() => removeDiscardedAvatars(engine, avatars));
      });
      pendingWork = queuedRemoval;
    }
    return queuedRemoval;
  };
  const stopping = new AbortController();
  let scan: Promise<void> | undefined;
  // Not part of the other work, which must not wait for this slow scan of the whole store.
  const scanForUnusedAvatars = () => {
    scan ??= attempt(async () => {
      const count = await removeUnusedAvatars(engine, avatars, stopping.signal);
      if (count > 0) log.info({ count }, 'deleted avatars that no account has');
    }).finally(() => {
      scan = undefined;
    });
    return scan;
  };
  const reportIndexing = async () => {
    const messages = await countUnexamined(engine.db);
    if (messages >= MIN_REPORTED_MESSAGES) log.info({ messages }, 'messages are being indexed');
  };
  const run = async () => {
    void enqueueRemoval();
    // After all pending work, so that runs do not overlap and `stop` waits for all of them.
    pendingWork = pendingWork.then(async () => {
      await attempt(() => deleteExpiredSessions(engine, config.sessions));
      await attempt(() => deleteExpiredChanges(engine.db));
      await attempt(() => deleteExpiredEnds(engine.db));
      await attempt(() => deleteExpiredKeys(engine));
      await attempt(() => deleteExpiredLinks(engine.db));
      await attempt(() => deleteExpiredMails(engine));
      await attempt(() => rateLimits.deleteExpired());
      await attempt(reportIndexing);
    });
    await Promise.all([pendingWork, scanForUnusedAvatars()]);
  };

  const timer = setInterval(run, HOUSEKEEPING_INTERVAL_MS).unref();
  void run();
  return {
    run,
    removeDiscardedAvatars: enqueueRemoval,
    async stop() {
      clearInterval(timer);
      stopping.abort();
      await Promise.all([pendingWork, scan]);
    },
  };
}
