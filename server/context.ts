import type { KeyObject } from 'node:crypto';
import type { FastifyBaseLogger } from 'fastify';
import { openAvatarStore } from './avatars/open.ts';
import type { AvatarStore } from './avatars/store.ts';
import type { Config, Quotas } from './config.ts';
import type { Engine } from './database/engine.ts';
import type { StopDeadline } from './database/kind.ts';
import { openDatabase } from './database/open.ts';
import { readCursorKey, readRateLimitKey } from './database/secrets.ts';
import { type Housekeeping, startHousekeeping } from './housekeeping.ts';
import { type Metrics, openMetrics } from './metrics/registry.ts';
import { openRateLimits, type RateLimits } from './rate-limits/rate-limits.ts';
import { updateSearchIndex } from './search/rebuild.ts';
import { openSearchState, type SearchState } from './search/search-state.ts';
import { type OutageLog, openOutageLog } from './system/outage-log.ts';
import { tasksModule } from './tasks.ts';

/** Maximum time that a stopping server uses the database after its drain period, for pending requests and tasks. */
const STOP_TIMEOUT_MS = 10_000;

/** The resources of the application. Each process opens one context. Disposing it closes the resources. */
export interface Context extends AsyncDisposable {
  config: Config;
  log: FastifyBaseLogger;
  engine: Engine;
  avatars: AvatarStore;
  quotas: Quotas;
  rateLimits: RateLimits;
  metrics: Metrics;
  housekeeping: Housekeeping;
  outageLog: OutageLog;
  search: SearchState;
  /** The secret key of cursors, 32 bytes. See `http/cursors.ts`. */
  cursorKey: KeyObject;
}

/**
 * Opens the database, the avatar store and everything else that handlers use.
 * @param runsMaintenance whether this process takes part in maintenance, see `OpenOptions`
 * @throws OperatorError if the database or the avatar bucket cannot be used
 */
export async function openContext(
  config: Config,
  log: FastifyBaseLogger,
  {
    runsMaintenance = true,
    stopDeadline,
  }: { runsMaintenance?: boolean; stopDeadline?: StopDeadline } = {},
): Promise<Context> {
  // Closes the opened resources if a later one fails to open.
  await using opened = new AsyncDisposableStack();
  const engine = opened.use(
    runsMaintenance
      ? await openMaintainedDatabase(config, log, stopDeadline)
      : await openDatabase(config, {
          runsMaintenance: false,
          tasksModule,
          stopDeadline,
          onReplicaUnusable: warnAboutReplica(log),
          onReplicaUsable: reportReplica(log),
        }),
  );
  const cursorKey = await readCursorKey(engine);
  const avatars = await openAvatars(config, engine, log);
  const rateLimits = opened.adopt(
    await openRateLimits(config, {
      secretKey: await readRateLimitKey(engine),
      stopDeadline,
      onReset: (err) =>
        log.warn({ err }, 'the counters of rate limits were damaged and have been reset'),
    }),
    (limits) => limits.close(),
  );
  const outageLog = opened.adopt(openOutageLog(log), (logged) => logged.stop());
  const metrics = openMetrics(config, engine, outageLog);
  const housekeeping = opened.adopt(
    startHousekeeping({ config, log, engine, avatars, rateLimits, outageLog }),
    (started) => started.stop(),
  );
  // All are open. From now on, disposing the context closes them.
  const resources = opened.move();
  return {
    config,
    log,
    engine,
    avatars,
    quotas: config.quotas,
    rateLimits,
    metrics,
    housekeeping,
    outageLog,
    search: openSearchState(),
    cursorKey,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/**
 * Opens the avatar store. An unavailable bucket does not prevent the start, because everything except avatars works
 * without it.
 * @throws OperatorError if the bucket does not exist, refuses the credentials or belongs to another database
 */
export function openAvatars(
  config: Config,
  engine: Engine,
  log: FastifyBaseLogger,
): Promise<AvatarStore> {
  return openAvatarStore(config, engine, (err) =>
    log.warn({ err }, 'avatars and uploads return 503 until the avatar bucket is available'),
  );
}

function warnAboutReplica(log: FastifyBaseLogger): (cause: unknown) => void {
  return (err) =>
    log.warn({ err }, 'searches read from DATABASE_URL until DATABASE_READ_URL can be used');
}

function reportReplica(log: FastifyBaseLogger): () => void {
  return () => log.info('searches read from DATABASE_READ_URL again');
}

/**
 * Opens the database for a process that takes part in maintenance: a single server, or the supervisor of workers.
 * Migrates the database, and rebuilds an outdated search index.
 * Waits for another server on the same data folder as long as it may take to stop, so that a restart succeeds. Servers
 * that can share a database wait until another one has migrated and prepared it.
 * @throws OperatorError if the database cannot be used
 */
export async function openMaintainedDatabase(
  config: Config,
  log: FastifyBaseLogger,
  stopDeadline?: StopDeadline,
): Promise<Engine> {
  return openDatabase(config, {
    tasksModule,
    lockTimeoutMs: config.drainSeconds * 1000 + STOP_TIMEOUT_MS,
    onLockWait: (message) => log.warn({ dataDir: config.dataDir }, message),
    prepare: (engine) =>
      updateSearchIndex(engine, (spaces) => log.info({ spaces }, 'rebuilding the search index')),
    stopDeadline,
    onReplicaUnusable: warnAboutReplica(log),
    onReplicaUsable: reportReplica(log),
  });
}
