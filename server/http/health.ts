import type { FastifyInstance } from 'fastify';
import { sql } from 'kysely';
import type { Context } from '../context.ts';
import { unavailable } from './problems.ts';

/** Serves `/healthz` (the process lives) and `/readyz` (it can serve: not stopping, and its database answers). */
export async function serveHealth(
  app: FastifyInstance,
  { engine }: Pick<Context, 'engine'>,
): Promise<void> {
  let isStopping = false;
  app.addHook('preClose', async () => {
    isStopping = true;
  });
  // An overloaded process lives: to restart it would help nobody.
  app.get('/healthz', { config: { pressureHandler: () => {} } }, async () => ({ status: 'ok' }));
  app.get('/readyz', async () => {
    if (isStopping) throw unavailable();
    await sql`SELECT 1`.execute(engine.db);
    return { status: 'ready' };
  });
}
