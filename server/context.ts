import type { KeyObject } from 'node:crypto';
import type { FastifyBaseLogger } from 'fastify';
import { openAvatarStore } from './avatars/open.ts';
import type { AvatarStore } from './avatars/store.ts';
import type { Config, Quotas } from './config.ts';
import type { Engine } from './database/engine.ts';
import type { OpenOptions } from './database/kind.ts';
import { openDatabase } from './database/open.ts';
import { readCursorKey, readRateLimitKey } from './database/secrets.ts';
import { type Housekeeping, startHousekeeping } from './housekeeping.ts';
import { type Mailer, type MailOverrides, openMailer } from './mailer.ts';
import { type Followers, openFollowers } from './messages/followers.ts';
import { type Metrics, openMetrics } from './metrics/registry.ts';
import { openRateLimits, type RateLimits } from './rate-limits/rate-limits.ts';
import { ensureDictionary } from './search/dictionary/dictionary.ts';
import { indexer } from './search/document-rows.ts';
import { updateSearchIndex } from './search/rebuild.ts';
import { openSearchState, type SearchState } from './search/search-state.ts';
import { type ListFollowers, openListFollowers } from './spaces/list-followers.ts';
import { type OutageLog, openOutageLog } from './system/outage-log.ts';
import { openWaits, type Waits } from './system/waits.ts';
import { tasksModule } from './tasks.ts';

/**
 * Time after its drain period in which a stopping server normally finishes pending requests and tasks. A request that
 * waits for the write lock can take longer.
 */
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
  mailer: Mailer;
  outageLog: OutageLog;
  search: SearchState;
  waits: Waits;
  followers: Followers;
  listFollowers: ListFollowers;
  /** The secret key of cursors, 32 bytes. See `http/cursors.ts`. */
  cursorKey: KeyObject;
}

/** `runsMaintenance` is true for a single server and the supervisor of workers, and false for a worker. */
type ProcessOptions = Pick<OpenOptions, 'runsMaintenance' | 'stopDeadline'>;

/**
 * Opens the database, the avatar store and everything else that handlers use.
 * @throws OperatorError if the database or the avatar bucket cannot be used
 */
export async function openContext(
  config: Config,
  log: FastifyBaseLogger,
  { mail, ...options }: ProcessOptions & { mail?: MailOverrides | undefined } = {},
): Promise<Context> {
  // Closes the opened resources if a later one fails to open.
  await using opened = new AsyncDisposableStack();
  const engine = opened.use(await openServiceDatabase(config, log, options));
  const cursorKey = await readCursorKey(engine);
  const avatars = await openAvatars(config, engine, log);
  const rateLimits = opened.adopt(
    await openRateLimits(config, {
      secretKey: await readRateLimitKey(engine),
      stopDeadline: options.stopDeadline,
      onReset: (err) =>
        log.warn({ err }, 'the counters of rate limits were damaged and have been reset'),
    }),
    (limits) => limits.close(),
  );
  const outageLog = opened.adopt(openOutageLog(log), (logged) => logged.stop());
  const waits = openWaits();
  const metrics = openMetrics(config, engine, outageLog, waits);
  const housekeeping = opened.adopt(
    startHousekeeping({ config, log, engine, avatars, rateLimits, outageLog }),
    (started) => started.stop(),
  );
  const mailer = opened.adopt(
    openMailer(config, engine, { log, countMail: metrics.countMail, outageLog, overrides: mail }),
    (started) => started.stop(),
  );
  const reportFailedRead = (error: unknown) => {
    if (engine.isUnavailable(error)) outageLog.report('database', error);
    else log.error({ err: error }, 'reading for waiting requests failed and will be retried');
  };
  const followers = opened.adopt(
    openFollowers({ engine, avatars, waits }, reportFailedRead),
    (started) => started.close(),
  );
  const listFollowers = opened.adopt(
    openListFollowers({ engine, avatars, waits }, reportFailedRead),
    (started) => started.close(),
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
    mailer,
    outageLog,
    search: openSearchState(),
    waits,
    followers,
    listFollowers,
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

/**
 * Opens the database of the service, and migrates it. If this process runs maintenance, also rebuilds an outdated
 * search index, and waits for another server on the same data folder as long as that server may take to stop, so that a
 * restart succeeds. Servers that can share a database wait until another one has migrated and prepared it.
 * @throws OperatorError if the database cannot be used
 */
export async function openServiceDatabase(
  config: Config,
  log: FastifyBaseLogger,
  { runsMaintenance = true, stopDeadline }: ProcessOptions,
): Promise<Engine> {
  // Not for workers, because their supervisor has already locked and prepared the database.
  const maintenanceOptions: OpenOptions = {
    lockTimeoutMs: config.drainSeconds * 1000 + STOP_TIMEOUT_MS,
    onLockWait: (message) => log.warn({ dataDir: config.dataDir }, message),
    onMigration: (migration, left) => log.info({ migration, left }, 'migrating the database'),
    prepare: (engine) =>
      updateSearchIndex(engine, (spaces) => log.info({ spaces }, 'rebuilding the search index')),
  };
  const engine = await openDatabase(config, {
    ...(runsMaintenance && maintenanceOptions),
    runsMaintenance,
    tasksModule,
    stopDeadline,
    indexer,
    onIndexRepair: (reason) => log.warn({ reason }, 'repairing the copy of the search index'),
    onIndexProgress: (spaces) => log.info({ spaces }, 'building the copy of the search index'),
  });
  // A new copy of the search index has none.
  if (runsMaintenance) {
    await ensureDictionary(engine.searchIndex.engine).catch((err: unknown) => {
      // It is damaged, and maintenance builds it again.
      if (!engine.isUnavailable(err)) throw err;
      log.warn({ err }, 'searches return 503 until the search index is repaired');
    });
  }
  return engine;
}
