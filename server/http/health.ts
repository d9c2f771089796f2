import type { FastifyInstance } from 'fastify';
import type { Context } from '../context.ts';
import { unavailable } from './problems.ts';

/** Serves `/healthz` (the process lives) and `/readyz` (it can serve: not stopping, and its database can be read). */
export async function serveHealth(
  app: FastifyInstance,
  { engine }: Pick<Context, 'engine'>,
): Promise<void> {
  let isStopping = false;
  app.addHook('preClose', async () => {
    isStopping = true;
  });
  // An overloaded process is alive. A restart would not help.
  app.get('/healthz', { config: { isExemptFromLoadShedding: true } }, async () => ({
    status: 'ok',
  }));
  app.get('/readyz', async () => {
    if (isStopping) throw unavailable();
    try {
      // Reads only: where nothing can be written, searches still can be served.
      await engine.db.selectFrom('users').select('id').limit(1).execute();
    } catch (cause) {
      throw Object.assign(unavailable(), { cause });
    }
    return { status: 'ready' };
  });
}
