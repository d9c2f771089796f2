import cluster from 'node:cluster';
import { lookup } from 'node:dns/promises';
import type { FastifyBaseLogger } from 'fastify';
import { buildApp, type DemoOptions } from '../app.ts';
import type { Config } from '../config.ts';
import { type Context, openContext } from '../context.ts';
import { TIME_LIMITS } from '../http/time-limits.ts';
import { logStart } from './log.ts';
import { explainListenError } from './port.ts';
import { stopOnSignal } from './signals.ts';
import { respondWhileStarting } from './startup-responder.ts';
import { ProcessStopDeadline } from './stop-deadline.ts';

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
  const open = () =>
    openContext(config, log, { runsMaintenance, stopDeadline, mail: demo?.mailbox });
  // The supervisor has migrated the database before it starts workers, so they open it quickly.
  const context = runsMaintenance ? await respondWhileStarting(config, open) : await open();
  const app = await buildApp(context, TIME_LIMITS, demo);
  try {
    // Not passed as a literal, because Fastify's type lacks `reusePort`, an option of Node.js.
    const listenOptions = {
      host: await resolveLocalhost(config.host),
      port: config.port,
      // On Linux, the kernel distributes connections to the workers. Elsewhere, the supervisor passes them on, and some
      // hang if a worker is killed.
      reusePort: cluster.isWorker && process.platform === 'linux',
    };
    await app.listen(listenOptions);
  } catch (error) {
    throw explainListenError(error, config);
  }

  stopOnSignal(async (signal) => {
    if (runsMaintenance) log.info({ signal }, 'stopping');
    stopDeadline.start(config);
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
