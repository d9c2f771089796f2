import cluster, { type Worker } from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';
import { AggregatorRegistry, type Registry } from 'prom-client';
import { createProcessRegistry } from './registry.ts';

/** The metrics of one process. */
type Snapshot = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

/** Asks a worker for its snapshot, or sends it the metrics of all processes. */
type SupervisorMessage = { metrics: 'collect' } | { metrics: 'aggregated'; text: string };

/** Sends a worker's snapshot to the supervisor, or asks it for the metrics of all processes. */
type WorkerMessage = { metrics: 'snapshot'; snapshot: Snapshot } | { metrics: 'request' };

/** Maximum time that the supervisor waits for snapshots. If a worker has not responded, it uses the previous one. */
const SNAPSHOT_TIMEOUT_MS = 2_000;

/** Longer than `SNAPSHOT_TIMEOUT_MS`, because the supervisor waits for snapshots before it responds. */
const AGGREGATION_TIMEOUT_MS = 5_000;

/**
 * Makes this process, the supervisor, respond to workers that ask for the metrics of all processes.
 * @param instance the label `instance` of this process's own metrics, the same as in the workers
 */
export function aggregateMetrics(instance: string): void {
  const ownRegistry = createProcessRegistry(instance);
  const snapshots = new Map<Worker, Snapshot>();
  const onSnapshot = new Map<Worker, () => void>();
  /** The counters of workers that have exited. Without them, sums over all workers would decrease. */
  const exitedCounters: Snapshot[] = [];
  let aggregation: Promise<string> | undefined;

  cluster.on('message', (worker, message: WorkerMessage) => {
    // Its counters are in `exitedCounters`.
    if (worker.isDead()) return;
    if (message.metrics === 'snapshot') {
      snapshots.set(worker, message.snapshot);
      onSnapshot.get(worker)?.();
    } else if (message.metrics === 'request') {
      aggregation ??= aggregate().finally(() => {
        aggregation = undefined;
      });
      void aggregation.then((text) => sendToWorker(worker, { metrics: 'aggregated', text }));
    }
  });
  cluster.on('exit', (worker) => {
    exitedCounters.push((snapshots.get(worker) ?? []).filter(isCumulative));
    snapshots.delete(worker);
    onSnapshot.get(worker)?.();
  });

  async function aggregate(): Promise<string> {
    // Workers without a snapshot are still starting and would not respond.
    const responses = [...snapshots.keys()].map((worker) => {
      const response = new Promise<void>((resolve) => onSnapshot.set(worker, resolve));
      sendToWorker(worker, { metrics: 'collect' });
      return response;
    });
    const timeout = sleep(SNAPSHOT_TIMEOUT_MS, undefined, { ref: false });
    await Promise.race([Promise.all(responses), timeout]);
    onSnapshot.clear();

    // Only the `process_` metrics (processor time, memory) of the supervisor are useful, because it serves no requests.
    const ownMetrics = await ownRegistry.getMetricsAsJSON();
    const ownResources = ownMetrics
      .filter(({ name }) => name.startsWith('process_'))
      // By default, aggregation omits the start time. The earliest one is that of the supervisor.
      .map((metric) =>
        metric.aggregator === 'omit' ? { ...metric, aggregator: 'min' as const } : metric,
      );
    // Merged, so that the list does not grow with each worker that exits.
    const merged = AggregatorRegistry.aggregate(exitedCounters.splice(0));
    exitedCounters.push(await merged.getMetricsAsJSON());
    // The first snapshot with a metric determines its aggregator.
    const all = [ownResources, ...snapshots.values(), ...exitedCounters];
    return AggregatorRegistry.aggregate(all).metrics();
  }
}

/**
 * Makes this process, a worker, send its metrics to the supervisor on request.
 * @returns a function that resolves to the metrics of all processes in Prometheus format, and rejects if the supervisor
 *   does not respond within 5 seconds
 */
export function shareMetrics(registry: Registry): () => Promise<string> {
  const waiting = new Set<(text: string) => void>();
  process.on('message', (message: SupervisorMessage) => {
    if (message.metrics === 'collect') void sendSnapshot(registry);
    if (message.metrics !== 'aggregated') return;
    for (const resolve of waiting) resolve(message.text);
    waiting.clear();
  });
  // The first snapshot tells the supervisor that this worker responds from now on.
  void sendSnapshot(registry);

  return () =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.delete(receive);
        reject(new Error('The supervisor did not send the metrics in time.'));
      }, AGGREGATION_TIMEOUT_MS);
      const receive = (text: string) => {
        clearTimeout(timer);
        resolve(text);
      };
      waiting.add(receive);
      sendToSupervisor({ metrics: 'request' });
    });
}

async function sendSnapshot(registry: Registry): Promise<void> {
  const metrics = await registry.getMetricsAsJSON();
  const snapshot = metrics.map((metric) =>
    // The maximum of values such as the event loop delay: an average would hide a single slow process.
    metric.aggregator === 'average' ? { ...metric, aggregator: 'max' as const } : metric,
  );
  sendToSupervisor({ metrics: 'snapshot', snapshot });
}

/** Whether a metric only increases. Its sum must include processes that have exited. */
function isCumulative({ type }: Snapshot[number]): boolean {
  return ['counter', 'histogram'].includes(String(type));
}

// The empty callbacks ignore errors: a process that exits meanwhile needs no message.

function sendToWorker(worker: Worker, message: SupervisorMessage): void {
  if (worker.isConnected()) worker.send(message, () => {});
}

function sendToSupervisor(message: WorkerMessage): void {
  process.send?.(message, () => {});
}
