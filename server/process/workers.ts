import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import type { FastifyBaseLogger } from 'fastify';
import type { Config } from '../config.ts';
import { openDatabase } from '../database/open.ts';
import { TIME_LIMITS } from '../http/time-limits.ts';
import { gatherMetrics } from '../metrics/cluster.ts';
import { announce, listen } from './serve.ts';
import { whileStarting } from './startup-responder.ts';

/** A worker that ends sooner than this after its start is replaced only after a pause as long, in milliseconds. */
const PAUSE = 1_000;

/** How much longer than it should a worker may take to stop, in milliseconds. */
const PATIENCE = 1_500;

/** What a worker says to the supervisor once it serves. */
const SERVING = 'serving';

export function isWorker(): boolean {
  return cluster.isWorker;
}

export function tellSupervisor(): void {
  process.send?.(SERVING);
}

/**
 * Runs the service in several processes on one port and one database, and replaces those that end. This process
 * brings the database up to date first, keeps its files in order, and answers no requests.
 */
export async function superviseWorkers(config: Config, log: FastifyBaseLogger): Promise<void> {
  announce(config, log);
  const engine = await whileStarting(config, () => openDatabase(config));
  // Workers share the port, and would also share it with a service of somebody else's.
  const port = await listen(config, () => findPort(config));
  let hasServed = false;
  let isStopping = false;
  if (config.metricsToken !== null) gatherMetrics();

  const start = () => {
    const begun = performance.now();
    const worker = cluster.fork({ PORT: port });
    worker.once('exit', async (code, signal) => {
      if (isStopping) return;
      const ended = { worker: worker.process.pid, code, signal };
      if (!hasServed) {
        log.fatal(ended, 'a worker could not start, so neither can the service');
        process.exit(1);
      }
      log.error(ended, 'a worker has ended and is replaced');
      const isYoung = performance.now() - begun < PAUSE;
      setTimeout(() => isStopping || start(), isYoung ? PAUSE : 0);
    });
  };
  cluster.on('message', (_worker, message) => {
    if (message === SERVING) hasServed = true;
  });
  for (let i = 0; i < config.workers; i += 1) start();

  const stop = async (signal: string) => {
    if (isStopping) return;
    isStopping = true;
    log.info({ signal }, 'stopping');
    const workers = Object.values(cluster.workers ?? {}).filter((each) => each !== undefined);
    const ended = await Promise.all(
      workers.filter((each) => !each.isDead()).map((each) => stopWorker(each, config)),
    );
    await engine.close();
    log.info('stopped');
    process.exit(ended.includes('SIGKILL') ? 1 : 0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop(signal));
}

/** The port to listen on, which the system chooses where the settings leave it to it. */
async function findPort({ host, port }: Config): Promise<number> {
  const probe = createServer().listen({ host, port });
  await once(probe, 'listening');
  const found = (probe.address() as AddressInfo).port;
  await new Promise((resolve) => probe.close(resolve));
  return found;
}

/** Stops a worker, by force if it hangs. Answers with the signal that ended it, if one did. */
async function stopWorker(worker: Worker, { drainSeconds }: Config): Promise<string | null> {
  const patience = drainSeconds * 1000 + TIME_LIMITS.closeTimeoutMs + PATIENCE;
  const deadline = setTimeout(() => worker.process.kill('SIGKILL'), patience);
  worker.process.kill('SIGTERM');
  const [, signal] = await once(worker, 'exit');
  clearTimeout(deadline);
  return signal;
}
