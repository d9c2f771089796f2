import cluster from 'node:cluster';
import type { FastifyBaseLogger } from 'fastify';
import { buildApp } from './app.ts';
import type { Config } from './config.ts';
import { type Context, openContext } from './context.ts';
import { whileStarting } from './http/starting.ts';

/** Serves until the process is told to stop; what is being answered then is answered to the end. */
export async function serve(
  config: Config,
  log: FastifyBaseLogger,
  { maintains }: { maintains: boolean },
): Promise<Context> {
  const open = () => openContext(config, log, { maintains });
  // A worker finds the database up to date.
  const context = maintains ? await whileStarting(config, open) : await open();
  const app = await buildApp(context);
  // Where the system can, it hands connections to the workers itself: of those that the supervisor hands over, some
  // would be left hanging by a worker that is killed.
  const reusePort = cluster.isWorker && process.platform === 'linux';
  const { host, port } = config;
  await listenOrExit(config, () => app.listen({ host, port, ...{ reusePort } }));
  let isStopping = false;
  const stop = async () => {
    // Ctrl+C in a terminal sends the signal twice: once from the terminal, once from npm.
    if (isStopping) return;
    isStopping = true;
    await app.close();
    await context[Symbol.asyncDispose]();
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop());
  return context;
}

/** Listens; or ends the process with a line for the operator, if somebody else has the port. */
export async function listenOrExit<T>(
  { host, port }: Config,
  listen: () => Promise<T>,
): Promise<T> {
  try {
    return await listen();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    console.error(`PORT=${port} is in use on ${host}. Set PORT to another number.`);
    process.exit(1);
  }
}
