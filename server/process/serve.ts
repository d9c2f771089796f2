import cluster from 'node:cluster';
import { lookup } from 'node:dns/promises';
import type { FastifyBaseLogger } from 'fastify';
import { buildApp, type DemoOptions } from '../app.ts';
import type { Config } from '../config.ts';
import { type Context, openContext } from '../context.ts';
import { TIME_LIMITS } from '../http/time-limits.ts';
import { logOperatorCommands } from '../system/operator-commands.ts';
import { watchDescriptors } from './descriptors.ts';
import { logStart } from './log.ts';
import { explainListenError } from './port.ts';
import { scheduleBackups } from './scheduled-backups.ts';
import { stopOnSignal } from './signals.ts';
import { respondWhileStarting } from './startup-responder.ts';
import { ProcessStopDeadline } from './stop-deadline.ts';
import { keepWatchdogQuiet } from './watchdog.ts';

/** Whether several processes can listen on the same port, so that the kernel distributes connections to them. */
export const SHARES_PORT = process.platform === 'linux';

/**
 * Starts the server in this process. On a stop signal, it finishes pending requests and exits.
 * @param options.runsMaintenance true for a single process; false for a worker, whose supervisor runs maintenance
 * @throws OperatorError if the database, the avatar bucket, HOST or PORT cannot be used
 */
export async function serve(
  config: Config,
  log: FastifyBaseLogger,
  { runsMaintenance, demo }: { runsMaintenance: boolean; demo?: DemoOptions },
): Promise<Context> {
  if (runsMaintenance) logStart(config, log);
  const stopDeadline = new ProcessStopDeadline(log);
  const open = async () => {
    const context = await openContext(config, log, {
      runsMaintenance,
      stopDeadline,
      mail: demo?.mailbox,
    });
    const backups = runsMaintenance
      ? await scheduleBackups(config, context.engine, log)
      : undefined;
    return { context, backups, app: await buildApp(context, TIME_LIMITS, demo) };
  };
  // The supervisor of workers responds until one of them listens.
  const { context, backups, app } = runsMaintenance
    ? await respondWhileStarting(config, open)
    : await open();
  try {
    // Not passed as a literal, because Fastify's type lacks `reusePort`, an option of Node.js.
    const listenOptions = {
      host: await resolveLocalhost(config.host),
      port: config.port,
      // Otherwise, the supervisor passes connections on, and some hang if a worker is killed.
      reusePort: cluster.isWorker && SHARES_PORT,
    };
    await app.listen(listenOptions);
  } catch (error) {
    throw explainListenError(error, config);
  }

  if (runsMaintenance) {
    keepWatchdogQuiet(config);
    logOperatorCommands(config.dataDir, log);
  }
  watchDescriptors(log);
  stopOnSignal(async (signal) => {
    if (runsMaintenance) log.info({ signal }, 'stopping');
    stopDeadline.start(config);
    backups?.[Symbol.dispose]();
    await app.close();
    await context[Symbol.asyncDispose]();
    if (runsMaintenance) log.info('stopped');
    return stopDeadline.exitCode;
  });
  return context;
}

/**
 * Resolves `localhost`, and returns other hosts unchanged. For this name, Fastify would start a second server on the
 * other loopback address, without the event listeners of `app.server`. Node.js resolves other names to one address.
 */
async function resolveLocalhost(host: string): Promise<string> {
  return host === 'localhost' ? (await lookup(host)).address : host;
}
