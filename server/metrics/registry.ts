import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { countWaitingPasswords } from '../auth/password-hashing.ts';
import { countWaitingAvatars } from '../avatars/rendering.ts';
import type { Config } from '../config.ts';
import type { Engine } from '../database/engine.ts';
import { measureOutbox, type OutboxState } from '../mail/outbox.ts';
import { type OutageLog, RESOURCES } from '../system/outage-log.ts';

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

/** Creates the metrics of this process. They are enabled if METRICS_TOKEN is set. */
export function openMetrics(
  { metricsToken, instance }: Pick<Config, 'metricsToken' | 'instance'>,
  engine: Pick<Engine, 'activity' | 'searchIndex' | 'db' | 'isDamaged' | 'isUnavailable'>,
  outageLog: Pick<OutageLog, 'isFailing'>,
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
    name: 'http_request_duration_seconds',
    help: 'Duration of requests, by operation of the contract and status',
    labelNames: ['operation', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers,
  });
  const searches = new Histogram({
    name: 'search_duration_seconds',
    help: 'Duration of searches, without reading the request and sending the response',
    labelNames: ['kind'],
    buckets: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1],
    registers,
  });
  const failedLogins = new Counter({
    name: 'failed_logins_total',
    help: 'Logins with an unknown email address or a wrong password',
    registers,
  });
  const delayedLogins = new Counter({
    name: 'delayed_logins_total',
    help: 'Logins that were delayed because of many failed logins to the same account',
    registers,
  });
  const mails = new Counter({
    name: 'mail_attempts_total',
    help: 'Attempts to send mail: sent, postponed after a failure, or deleted after the last one',
    labelNames: ['result'],
    registers,
  });
  collectQueueLengths(registry, engine);
  collectOutbox(registry, engine);
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
    name: 'queue_length',
    help: 'Number of passwords waiting to be hashed, avatars waiting to be decoded, writers waiting for the lock, and queries waiting for a connection',
    labelNames: ['queue'],
    registers: [registry],
    collect() {
      this.set({ queue: 'passwords' }, countWaitingPasswords());
      // `pictures` is the documented label of avatars, so that existing dashboards keep working.
      this.set({ queue: 'pictures' }, countWaitingAvatars());
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
    name: 'search_index_pending_spaces',
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
function collectOutbox(registry: Registry, engine: Pick<Engine, 'db' | 'isUnavailable'>): void {
  const collect = (name: string, help: string, read: (outbox: OutboxState) => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      // All processes read the same outbox.
      aggregator: 'max',
      async collect() {
        try {
          this.set(read(await measureOutbox(engine)));
        } catch (error) {
          if (!engine.isUnavailable(error)) throw error;
        }
      },
    });
  collect('mail_waiting', 'Number of mails that wait to be sent', ({ waiting }) => waiting);
  collect(
    'mail_oldest_seconds',
    'Age of the oldest mail that waits to be sent, 0 if none does',
    ({ oldestSeconds }) => oldestSeconds,
  );
}

function collectOutages(
  registry: Registry,
  engine: Pick<Engine, 'isDamaged'>,
  outageLog: Pick<OutageLog, 'isFailing'>,
): void {
  new Gauge({
    name: 'resource_unavailable',
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
    name: 'database_busy_seconds_total',
    help: 'Time that the threads which serve requests have spent inside the database',
    registers: [registry],
    collect() {
      this.reset();
      this.inc(engine.activity().busySeconds);
    },
  });
  new Counter({
    name: 'database_write_wait_seconds_total',
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
  return registry;
}
