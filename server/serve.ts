import cluster from 'node:cluster';
import type { FastifyBaseLogger } from 'fastify';
import { buildApp } from './app.ts';
import type { Config } from './config.ts';
import { type Context, openContext } from './context.ts';
import { version } from './contract.ts';
import { hasDatabase } from './database/open.ts';
import { whileStarting } from './http/starting.ts';
import { OperatorError } from './program.ts';

/** Serves until the process is told to stop; what is being answered then is answered to the end. */
export async function serve(
  config: Config,
  log: FastifyBaseLogger,
  { maintains }: { maintains: boolean },
): Promise<Context> {
  if (maintains) announce(config, log);
  const open = () => openContext(config, log, { maintains });
  // A worker finds the database up to date.
  const context = maintains ? await whileStarting(config, open) : await open();
  const app = await buildApp(context);
  // Where the system can, it hands connections to the workers itself: of those that the supervisor hands over, some
  // would be left hanging by a worker that is killed.
  const reusePort = cluster.isWorker && process.platform === 'linux';
  const { host, port } = config;
  await listen(config, () => app.listen({ host, port, ...{ reusePort } }));
  let isStopping = false;
  const stop = async (signal: string) => {
    // Ctrl+C in a terminal sends the signal twice: once from the terminal, once from npm.
    if (isStopping) return;
    isStopping = true;
    if (maintains) log.info({ signal }, 'stopping');
    await app.close();
    await context[Symbol.asyncDispose]();
    if (maintains) log.info('stopped');
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop(signal));
  return context;
}

/** Tells the log what starts, and on which data: a mistaken DATA_DIR is an empty service. */
export function announce(config: Config, log: FastifyBaseLogger): void {
  const { dataDir, publicUrl, host, port } = config;
  const database = hasDatabase(config) ? 'found' : 'new';
  log.info({ version, node: process.version, dataDir, database }, 'starting');
  if (/^http:\/\/(0\.0\.0\.0|\[::\])[:/]|:0$/.test(publicUrl)) {
    log.warn(
      { host, port, publicUrl },
      'PUBLIC_URL is not set: nobody can fetch pictures from there',
    );
  }
}

/** @throws OperatorError if the port is in use */
export async function listen<T>({ host, port }: Config, attempt: () => Promise<T>): Promise<T> {
  try {
    return await attempt();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    throw new OperatorError(`PORT=${port} is in use on ${host}. Set PORT to another number.`);
  }
}
