import type { FastifyInstance } from 'fastify';
import type { Context } from '../context.ts';
import { pingDatabase } from '../database/ping.ts';
import { unavailable } from './problems.ts';

/** Serves `/healthz` (the process is alive) and `/readyz` (it is not stopping, and can read the database). */
export async function serveHealth(
  app: FastifyInstance,
  { engine }: Pick<Context, 'engine'>,
): Promise<void> {
  let isStopping = false;
  app.addHook('preClose', async () => {
    isStopping = true;
  });
  // An overloaded process is alive, and a restart would not help.
  const config = { isExemptFromLoadShedding: true };
  app.get('/healthz', { config }, async () => ({ status: 'ok' }));
  app.get('/readyz', async () => {
    if (isStopping) throw unavailable();
    try {
      await pingDatabase(engine);
    } catch (cause) {
      throw unavailable(cause);
    }
    return { status: 'ready' };
  });
}
