import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { countAccounts } from '../accounts/account-list.ts';
import { countWaitingPasswords } from '../auth/password-hashing.ts';
import { countWaitingAvatars } from '../avatars/rendering.ts';
import type { Config } from '../config.ts';
import type { Engine } from '../database/engine.ts';
import { measureOutbox } from '../mail/outbox.ts';
import { countUnexamined } from '../message-words/indexing.ts';
import { countReports } from '../reports/open-reports.ts';
import { hasBackupFailed, readLastBackup } from '../system/last-backup.ts';
import { type OutageLog, RESOURCES } from '../system/outage-log.ts';
import type { Waits } from '../system/waits.ts';

/** The metrics of this process. */
export interface Metrics {
  /** Null if metrics are disabled. Then the functions below record nothing. */
  registry: Registry | null;
  countFailedLogin(): void;
  countDelayedLogin(): void;
  /** Counts an attempt to send mail. */
  countMail(result: 'sent' | 'postponed' | 'deleted'): void;
  /** Records a request and its duration in seconds. `aborted`: its connection closed before the response ended. */
  recordRequest(labels: { operation: string; status: number | 'aborted' }, seconds: number): void;
  /** Runs a search and records its duration. */
  timeSearch<T>(kind: 'text' | 'tag' | 'all', search: () => Promise<T>): Promise<T>;
}

type MeasuredEngine = Pick<
  Engine,
  'activity' | 'searchIndex' | 'db' | 'isDamaged' | 'isUnavailable' | 'measureSize'
>;

/** Creates the metrics of this process. They are enabled if METRICS_TOKEN is set. */
export function openMetrics(
  { metricsToken, instance, dataDir }: Pick<Config, 'metricsToken' | 'instance' | 'dataDir'>,
  engine: MeasuredEngine,
  outageLog: Pick<OutageLog, 'isFailing'>,
  waits: Pick<Waits, 'count'>,
): Metrics {
  if (metricsToken === null) {
    return {
      registry: null,
      recordRequest() {},
      countFailedLogin() {},
      countDelayedLogin() {},
      countMail() {},
      timeSearch: (_kind, search) => search(),
    };
  }
  const registry = createProcessRegistry(instance);
  const registers = [registry];
  const requests = new Histogram({
    name: 'space_service_http_request_duration_seconds',
    help: 'Duration of requests, by operation of the contract and status',
    labelNames: ['operation', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers,
  });
  const searches = new Histogram({
    name: 'space_service_search_duration_seconds',
    help: 'Duration of searches, without reading the request and sending the response',
    labelNames: ['kind'],
    buckets: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1],
    registers,
  });
  const failedLogins = new Counter({
    name: 'space_service_failed_logins_total',
    help: 'Logins with an unknown email address or a wrong password',
    registers,
  });
  const delayedLogins = new Counter({
    name: 'space_service_delayed_logins_total',
    help: 'Logins that were delayed because of many failed logins to the same account',
    registers,
  });
  const mails = new Counter({
    name: 'space_service_mail_attempts_total',
    help: 'Attempts to send mail: sent, postponed after a failure, or deleted after the last one',
    labelNames: ['result'],
    registers,
  });
  collectQueueLengths(registry, engine);
  collectFromDatabase(registry, engine);
  collectWaits(registry, waits);
  collectBackups(registry, dataDir);
  collectActivity(registry, engine);
  collectPendingSpaces(registry, engine);
  collectOutages(registry, engine, outageLog);
  return {
    registry,
    countFailedLogin: () => failedLogins.inc(),
    countDelayedLogin: () => delayedLogins.inc(),
    countMail: (result) => mails.inc({ result }),
    recordRequest: (labels, seconds) => requests.observe(labels, seconds),
    async timeSearch(kind, search) {
      const stop = searches.startTimer({ kind });
      try {
        return await search();
      } finally {
        stop();
      }
    },
  };
}

function collectQueueLengths(registry: Registry, engine: Pick<Engine, 'activity'>): void {
  new Gauge({
    name: 'space_service_queue_length',
    help: 'Number of passwords waiting to be hashed, avatars waiting to be decoded, writers waiting for the lock, and queries waiting for a connection',
    labelNames: ['queue'],
    registers: [registry],
    collect() {
      this.set({ queue: 'passwords' }, countWaitingPasswords());
      this.set({ queue: 'avatars' }, countWaitingAvatars());
      const { waitingWriters, waitingQueries } = engine.activity();
      this.set({ queue: 'writers' }, waitingWriters);
      this.set({ queue: 'queries' }, waitingQueries);
    },
  });
}

function collectPendingSpaces(
  registry: Registry,
  { searchIndex }: Pick<Engine, 'searchIndex'>,
): void {
  new Gauge({
    name: 'space_service_search_index_pending_spaces',
    help: 'Number of public spaces that searches do not find yet',
    registers: [registry],
    // The workers of a machine share a copy of the index.
    aggregator: 'max',
    async collect() {
      this.set(await searchIndex.countPending());
    },
  });
}

/** While the database is unavailable, they keep their last values. */
function collectFromDatabase(registry: Registry, engine: MeasuredEngine): void {
  const collect = (name: string, help: string, read: () => Promise<number | null>) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      // All processes read the same database.
      aggregator: 'max',
      async collect() {
        try {
          const value = await read();
          if (value === null) this.remove();
          else this.set(value);
        } catch (error) {
          if (!engine.isUnavailable(error)) throw error;
        }
      },
    });
  collect(
    'space_service_mail_waiting',
    'Number of mails that wait to be sent',
    async () => (await measureOutbox(engine)).waiting,
  );
  collect(
    'space_service_mail_oldest_seconds',
    'Age of the oldest mail that waits to be sent, 0 if none does',
    async () => (await measureOutbox(engine)).oldestSeconds,
  );
  collect(
    'space_service_accounts',
    'Number of accounts, at most a minute old',
    keepFor(MAX_COUNT_AGE_MS, () => countAccounts(engine)),
  );
  collect('space_service_open_reports', 'Number of reports that the operator has not closed', () =>
    countReports(engine),
  );
  collect(
    'space_service_messages_to_index',
    'Number of messages whose space has not been examined for the index of messages, approximately',
    () => countUnexamined(engine.db),
  );
  collect(
    'space_service_database_size_bytes',
    'Size of the database',
    async () => (await engine.measureSize()).database,
  );
  collect(
    'space_service_database_log_size_bytes',
    'Size of the write-ahead log beside the database file',
    async () => (await engine.measureSize()).log,
  );
}

/** Counting accounts reads a whole index. */
const MAX_COUNT_AGE_MS = 60_000;

function keepFor<T>(maxAgeMs: number, read: () => Promise<T>): () => Promise<T> {
  let value: T;
  let expiresAt = Number.NEGATIVE_INFINITY;
  return async () => {
    if (performance.now() > expiresAt) {
      value = await read();
      expiresAt = performance.now() + maxAgeMs;
    }
    return value;
  };
}

function collectWaits(registry: Registry, waits: Pick<Waits, 'count'>): void {
  new Gauge({
    name: 'space_service_waiting_requests',
    help: 'Number of requests that wait for new messages or changes of lists',
    registers: [registry],
    collect() {
      this.set(waits.count);
    },
  });
}

function collectBackups(registry: Registry, dataDir: string): void {
  new Gauge({
    name: 'space_service_backup_failing',
    help: '1 if the last scheduled backup failed, otherwise 0',
    registers: [registry],
    aggregator: 'max',
    async collect() {
      this.set((await hasBackupFailed(dataDir)) ? 1 : 0);
    },
  });
  new Gauge({
    name: 'space_service_last_backup_timestamp_seconds',
    help: 'Unix time of the last backup that succeeded, 0 if none is known',
    registers: [registry],
    aggregator: 'max',
    async collect() {
      this.set((await readLastBackup(dataDir)) ?? 0);
    },
  });
}

function collectOutages(
  registry: Registry,
  engine: Pick<Engine, 'isDamaged'>,
  outageLog: Pick<OutageLog, 'isFailing'>,
): void {
  new Gauge({
    name: 'space_service_resource_unavailable',
    help: '1 from the first failure of the database or the avatar storage until a minute without failures, and while the database is damaged; otherwise 0',
    labelNames: ['resource'],
    registers: [registry],
    // One failing worker is an outage.
    aggregator: 'max',
    collect() {
      for (const resource of RESOURCES) {
        const isDamaged = resource === 'database' && engine.isDamaged();
        this.set({ resource }, isDamaged || outageLog.isFailing(resource) ? 1 : 0);
      }
    },
  });
}

/** Registers the measurements of the engine. */
function collectActivity(registry: Registry, engine: Pick<Engine, 'activity'>): void {
  new Counter({
    name: 'space_service_database_busy_seconds_total',
    help: 'Time that the threads which serve requests have spent inside the database',
    registers: [registry],
    collect() {
      this.reset();
      this.inc(engine.activity().busySeconds);
    },
  });
  new Counter({
    name: 'space_service_database_write_wait_seconds_total',
    help: 'Time that requests have waited for the write lock',
    registers: [registry],
    collect() {
      this.reset();
      this.inc(engine.activity().waitSeconds);
    },
  });
}

/**
 * Returns a registry with the default metrics of a process: memory, processor time, event loop delay.
 * @param instance the label `instance` of all its metrics
 */
export function createProcessRegistry(instance: string): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ instance });
  collectDefaultMetrics({ register: registry });
  // Gauges with the suffix of counters. The metrics without it have the same numbers by type.
  for (const kind of ['handles', 'requests', 'resources']) {
    registry.removeSingleMetric(`nodejs_active_${kind}_total`);
  }
  return registry;
}
