import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyBaseLogger } from 'fastify';
import type { Config } from '../config.ts';
import { openAvatars, openServiceDatabase } from '../context.ts';
import { ANNOUNCEMENTS } from '../database/announcements.ts';
import { TIME_LIMITS } from '../http/time-limits.ts';
import { aggregateMetrics } from '../metrics/cluster.ts';
import { relayReads } from '../rate-limits/cluster.ts';
import { relayMessages } from '../system/cluster-relay.ts';
import { grantRenderingTurns } from '../system/cluster-turns.ts';
import { logOperatorCommands } from '../system/operator-commands.ts';
import { logStart } from './log.ts';
import { resolvePort } from './port.ts';
import { scheduleBackups } from './scheduled-backups.ts';
import { SHARES_PORT } from './serve.ts';
import { stopOnSignal } from './signals.ts';
import { respondWhileStarting } from './startup-responder.ts';
import { ProcessStopDeadline } from './stop-deadline.ts';
import { keepWatchdogQuiet } from './watchdog.ts';

/** A worker that exits within this time after its start is replaced after a delay of the same length. */
const RESTART_DELAY_MS = 1_000;

/** Extra time to stop, after the drain period and the close timeout, before a worker is killed. */
const STOP_MARGIN_MS = 1_500;

/** A terminal sends SIGINT to all processes. The supervisor may receive it this much later than its workers. */
const SIGNAL_MARGIN_MS = 100;

/** A worker that serves sends a message at this interval. */
const HEARTBEAT_INTERVAL_MS = 1_000;

/** A worker is replaced after this number of intervals without a message. No work blocks its thread for so long. */
const MAX_MISSED_HEARTBEATS = 5;

/** The message of a worker that serves. */
const HEARTBEAT = 'serving';

/** Tells the supervisor regularly that this worker serves requests. */
export function sendHeartbeats(): void {
  const send = () => process.send?.(HEARTBEAT, () => {});
  send();
  setInterval(send, HEARTBEAT_INTERVAL_MS).unref();
}

/**
 * Runs the service in several worker processes that share one port and one database, and replaces workers that exit or
 * hang.
 *
 * The supervisor itself migrates the database, updates the search index, runs maintenance and responds to no requests.
 * @throws OperatorError if the database, the avatar bucket, HOST or PORT cannot be used
 */
export async function superviseWorkers(config: Config, log: FastifyBaseLogger): Promise<void> {
  logStart(config, log);
  const stopDeadline = new ProcessStopDeadline(log);
  const { engine, backups } = await respondWhileStarting(config, async () => {
    await using opened = new AsyncDisposableStack();
    const database = opened.use(
      await openServiceDatabase(config, log, { runsMaintenance: true, stopDeadline }),
    );
    // Each worker opens the store, too. Here, a wrong setting is reported once.
    await openAvatars(config, database, log);
    const backups = await scheduleBackups(config, database, log);
    // Keeps the database open.
    opened.move();
    return { engine: database, backups };
  });
  // Workers listen on a shared port, so none of them would notice another service on it.
  const port = await resolvePort(config);
  if (config.metricsToken !== null) aggregateMetrics(config.instance);
  relayReads();
  relayMessages(ANNOUNCEMENTS);
  grantRenderingTurns();

  let hasServed = false;
  let isStopping = false;
  const served = Promise.withResolvers<void>();
  // Intervals without a message, of the workers that serve. Counted, because this process may have been suspended itself.
  const missed = new Map<Worker, number>();
  cluster.on('message', (worker, message) => {
    if (message !== HEARTBEAT) return;
    missed.set(worker, 0);
    hasServed = true;
    served.resolve();
  });
  cluster.on('exit', (worker) => missed.delete(worker));
  const replaceHanging = () => {
    for (const [worker, count] of missed) {
      missed.set(worker, count + 1);
      if (count !== MAX_MISSED_HEARTBEATS || isStopping) continue;
      log.error({ worker: worker.process.pid }, 'worker does not respond, killing it');
      worker.process.kill('SIGKILL');
    }
  };
  setInterval(replaceHanging, HEARTBEAT_INTERVAL_MS).unref();
  keepWatchdogQuiet(config);
  logOperatorCommands(config.dataDir, log);

  const startWorker = () => {
    const startedAt = performance.now();
    const worker = cluster.fork({ PORT: port });
    worker.once('exit', async (code, signal) => {
      if (isStopSignal(signal)) await sleep(SIGNAL_MARGIN_MS);
      if (isStopping) return;
      const exit = { worker: worker.process.pid, code, signal };
      if (!hasServed) {
        log.fatal(exit, 'worker failed to start, stopping');
        // The code says whether a restart may help. It is null after a signal.
        process.exit(code || 1);
      }
      log.error(exit, 'worker exited, starting another one');
      const isShortLived = performance.now() - startedAt < RESTART_DELAY_MS;
      setTimeout(
        () => {
          if (!isStopping) startWorker();
        },
        isShortLived ? RESTART_DELAY_MS : 0,
      );
    });
  };

  stopOnSignal(async (signal) => {
    isStopping = true;
    log.info({ signal }, 'stopping');
    const running = Object.values(cluster.workers ?? {})
      .filter((worker) => worker !== undefined)
      .filter((worker) => !worker.isDead());
    stopDeadline.start(config);
    backups[Symbol.dispose]();
    const codes = await Promise.all(running.map((worker) => stopWorker(worker, config, log)));
    await engine.close();
    log.info('stopped');
    return Math.max(stopDeadline.exitCode, ...codes);
  });
  // Last, so that a signal never ends this process without its workers.
  for (let i = 0; i < config.workers; i += 1) startWorker();
  if (SHARES_PORT) {
    await respondWhileStarting({ ...config, port, reusePort: true }, () => served.promise);
  }
}

/**
 * Stops a worker, and kills it if it hangs.
 * @returns 0 if it has stopped normally, and otherwise 1
 */
async function stopWorker(
  worker: Worker,
  { drainSeconds }: Config,
  log: FastifyBaseLogger,
): Promise<0 | 1> {
  const timeoutMs = drainSeconds * 1000 + TIME_LIMITS.closeTimeoutMs + STOP_MARGIN_MS;
  const timer = setTimeout(() => {
    log.error({ worker: worker.process.pid }, 'worker did not stop in time, killing it');
    worker.process.kill('SIGKILL');
  }, timeoutMs);
  worker.process.kill('SIGTERM');
  const [code, exitSignal] = await once(worker, 'exit');
  clearTimeout(timer);
  return code === 0 || isStopSignal(exitSignal) ? 0 : 1;
}

/**
 * Whether a stop signal ended a worker, as happens before it has started to serve. A terminal sends SIGINT to workers,
 * too.
 */
function isStopSignal(signal: string | null): boolean {
  return signal === 'SIGTERM' || signal === 'SIGINT';
}
