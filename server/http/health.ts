import type { FastifyInstance } from 'fastify';
import type { Context } from '../context.ts';
import { pingDatabase } from '../database/ping.ts';
import { OperatorError } from '../errors.ts';
import { unavailable } from './problems.ts';

/**
 * Serves `/healthz` (the process is alive) and `/readyz` (it is neither stopping nor overloaded, its database can be
 * used, and its search index is complete).
 */
export async function serveHealth(
  app: FastifyInstance,
  { engine, outageLog }: Pick<Context, 'engine' | 'outageLog'>,
): Promise<void> {
  let isStopping = false;
  app.addHook('preClose', async () => {
    isStopping = true;
  });
  // An overloaded process is alive, and a restart would not help.
  const config = { takesNoTurns: true };
  app.get('/healthz', { config }, async () => ({ status: 'ok' }));
  app.get('/readyz', async (request) => {
    if (isStopping) throw unavailable();
    let isReady: boolean;
    try {
      await pingDatabase(engine);
      isReady = await engine.searchIndex.isReady();
    } catch (error) {
      outageLog.report('database', error, request.log);
      // Other messages are those of the database, and are only logged, above.
      throw unavailable(undefined, error instanceof OperatorError ? error.message : undefined);
    }
    if (!isReady) throw unavailable();
    return { status: 'ready' };
  });
}
