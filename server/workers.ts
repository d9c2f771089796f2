import cluster from 'node:cluster';
import type { FastifyBaseLogger } from 'fastify';
import type { Config } from './config.ts';
import { openDatabase } from './database/open.ts';

/** A worker that ends sooner than this after its start is replaced only after a pause, in milliseconds. */
const PAUSE = 1_000;

export function isWorker(): boolean {
  return cluster.isWorker;
}

/**
 * Runs the service in several processes on one port and one database, and replaces those that end. This process
 * brings the database up to date first, keeps its files in order, and answers no requests.
 */
export async function superviseWorkers(config: Config, log: FastifyBaseLogger): Promise<void> {
  const engine = await openDatabase(config);
  let isStopping = false;

  for (let i = 0; i < config.workers; i += 1) cluster.fork();
  cluster.on('exit', (worker, code, signal) => {
    if (isStopping) return;
    log.error({ pid: worker.process.pid, code, signal }, 'a worker has ended and is replaced');
    setTimeout(() => {
      if (!isStopping) cluster.fork();
    }, PAUSE);
  });

  const stop = async () => {
    if (isStopping) return;
    isStopping = true;
    const workers = Object.values(cluster.workers ?? {}).flatMap((worker) => worker ?? []);
    await Promise.all(
      workers.map((worker) => {
        worker.process.kill('SIGTERM');
        return new Promise((resolve) => worker.once('exit', resolve));
      }),
    );
    await engine.close();
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop());
}
