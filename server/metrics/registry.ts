import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { waitingPasswords } from '../auth/password-hashing.ts';
import { waitingAvatars } from '../avatars/rendering.ts';
import type { Config } from '../config.ts';
import type { Engine } from '../database/engine.ts';

/** Measures what this process does. */
export interface Metrics {
  /** What was measured; null unless the operator wants it. */
  registry: Registry | null;
  /** Notes that a request was answered, and how long that took, in seconds. */
  noteRequest(labels: { operation: string; status: number }, seconds: number): void;
  /** Does a search, and notes how long it took. */
  timeSearch<T>(kind: 'text' | 'tag', search: () => Promise<T>): Promise<T>;
}

export function openMetrics(
  { metricsToken }: Pick<Config, 'metricsToken'>,
  engine: Pick<Engine, 'activity'>,
): Metrics {
  if (metricsToken === null) {
    return { registry: null, noteRequest() {}, timeSearch: (_kind, search) => search() };
  }
  const registry = measureProcess();
  const registers = [registry];
  const requests = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'How long requests took, by operation of the contract and status',
    labelNames: ['operation', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers,
  });
  const searches = new Histogram({
    name: 'search_duration_seconds',
    help: 'How long it took to find results, without receiving the request and sending the answer',
    labelNames: ['kind'],
    buckets: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1],
    registers,
  });
  const sum = (name: string, help: string, read: () => number) =>
    new Counter({
      ...{ name, help, registers },
      collect() {
        this.reset();
        this.inc(read());
      },
    });
  sum(
    'database_busy_seconds_total',
    'Time that the threads which answer requests have spent inside the database',
    () => engine.activity().busySeconds,
  );
  sum(
    'database_write_wait_seconds_total',
    'Time that requests have waited for their turn to write',
    () => engine.activity().waitSeconds,
  );
  new Gauge({
    name: 'queue_length',
    help: 'How many passwords wait to be hashed, avatars to be decoded, writers for their turn',
    labelNames: ['queue'],
    registers,
    collect() {
      this.set({ queue: 'passwords' }, waitingPasswords());
      this.set({ queue: 'pictures' }, waitingAvatars());
      this.set({ queue: 'writers' }, engine.activity().waitingWriters);
    },
  });
  return {
    registry,
    noteRequest: (labels, seconds) => requests.observe(labels, seconds),
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

/** A registry that measures what any process has: memory, processor time, how late its event loop is. */
export function measureProcess(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return registry;
}
