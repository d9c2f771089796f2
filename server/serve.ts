import type { FastifyBaseLogger } from 'fastify';
import { buildApp } from './app.ts';
import type { Config } from './config.ts';
import { type Context, openContext } from './context.ts';

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
    await app.close();
    await context[Symbol.asyncDispose]();
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void stop());
  return context;
}
