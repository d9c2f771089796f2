import cluster, { type Worker } from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';
import { AggregatorRegistry, type Registry } from 'prom-client';
import { measureProcess } from './registry.ts';

/** What one process has measured, as prom-client tells it. */
type Figures = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

/** What the supervisor says to a worker: tell me your figures; or, here are everybody's. */
type Order = { metrics: 'tell' } | { metrics: 'all'; text: string };

/** What a worker says to the supervisor: here are my figures; or, tell me everybody's. */
type Report = { metrics: 'mine'; figures: Figures } | { metrics: 'ask' };

/** How long to wait for a worker's figures, in milliseconds. One that hangs counts with those it told last. */
const WORKER_PATIENCE = 2_000;

/** How long to wait for everybody's figures, in milliseconds. */
const SUPERVISOR_PATIENCE = 5_000;

/** Has the supervisor answer workers that ask for the figures of all processes, as Prometheus reads them. */
export function aggregateMetrics(): void {
  const own = measureProcess();
  const told = new Map<Worker, Figures>();
  const answers = new Map<Worker, () => void>();
  /** What workers that have ended had counted: without it, the sums would fall. */
  const ended: Figures[] = [];
  let gathering: Promise<string> | undefined;

  cluster.on('message', (worker, report: Report) => {
    if (report.metrics === 'mine') {
      told.set(worker, report.figures);
      answers.get(worker)?.();
    } else if (report.metrics === 'ask') {
      gathering ??= gather().finally(() => {
        gathering = undefined;
      });
      void gathering.then((text) => say(worker, { metrics: 'all', text }));
    }
  });
  cluster.on('exit', (worker) => {
    ended.push((told.get(worker) ?? []).filter(isSum));
    told.delete(worker);
    answers.get(worker)?.();
  });

  async function gather(): Promise<string> {
    // Only workers that have told something listen: the others are still starting.
    const asked = [...told.keys()].map((worker) => {
      const answer = new Promise<void>((resolve) => answers.set(worker, resolve));
      say(worker, { metrics: 'tell' });
      return answer;
    });
    await Promise.race([Promise.all(asked), sleep(WORKER_PATIENCE, undefined, { ref: false })]);
    answers.clear();
    // The supervisor serves nobody: of what it measures, what it costs matters.
    const cost = (await own.getMetricsAsJSON()).filter(({ name }) => name.startsWith('process_'));
    const merged = await AggregatorRegistry.aggregate(ended.splice(0)).getMetricsAsJSON();
    ended.push(merged);
    return AggregatorRegistry.aggregate([...told.values(), cost, ...ended]).metrics();
  }
}

/**
 * Has a worker tell the supervisor what it has measured, whenever asked.
 * @returns what answers with the figures of all processes, as Prometheus reads them; fails if the supervisor hangs
 */
export function shareMetrics(registry: Registry): () => Promise<string> {
  const waiting = new Set<(text: string) => void>();
  const tell = async () => {
    const figures = (await registry.getMetricsAsJSON()).map((each) =>
      // The delay of an event loop, say: an average would hide the one process that is late.
      each.aggregator === 'average' ? { ...each, aggregator: 'max' as const } : each,
    );
    report({ metrics: 'mine', figures });
  };
  process.on('message', (order: Order) => {
    if (order.metrics === 'tell') void tell();
    if (order.metrics !== 'all') return;
    for (const answer of waiting) answer(order.text);
    waiting.clear();
  });
  void tell();

  return () =>
    new Promise((resolve, reject) => {
      const deadline = setTimeout(() => {
        waiting.delete(answer);
        reject(new Error('The supervisor of the workers does not answer.'));
      }, SUPERVISOR_PATIENCE);
      const answer = (text: string) => {
        clearTimeout(deadline);
        resolve(text);
      };
      waiting.add(answer);
      report({ metrics: 'ask' });
    });
}

function isSum({ type }: Figures[number]): boolean {
  return ['counter', 'histogram'].includes(String(type));
}

// Whoever has ended meanwhile need not hear it.
function say(worker: Worker, order: Order): void {
  if (worker.isConnected()) worker.send(order, () => {});
}

function report(message: Report): void {
  process.send?.(message, () => {});
}
