import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import { buildApp } from './app.ts';
import type { Config } from './config.ts';
import { type Context, openContext } from './context.ts';

/** How long requests that have begun may take to end when the service stops, in milliseconds. */
const GRACE = 8_000;

/** Serves until the process is told to stop; what is being answered then is answered to the end. */
export async function serve(
  config: Config,
  log: FastifyBaseLogger,
  { maintains }: { maintains: boolean },
): Promise<Context> {
  const context = await openContext(config, log, { maintains });
  const app = await buildApp(context);
  try {
    await app.listen({ host: config.host, port: config.port });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    console.error(`PORT=${config.port} is in use on ${config.host}. Set PORT to another number.`);
    process.exit(1);
  }
  const stop = async () => {
    await closeWithin(app, GRACE);
    await context[Symbol.asyncDispose]();
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void stop());
  return context;
}

async function closeWithin(app: FastifyInstance, milliseconds: number): Promise<void> {
  // A client that never finishes its request must not keep the service from stopping.
  const deadline = setTimeout(() => app.server.closeAllConnections(), milliseconds);
  await app.close();
  clearTimeout(deadline);
}
