import { setImmediate as nextLoopTurn, setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { TimeLimits } from './time-limits.ts';

/**
 * Makes `app.close()` finish pending requests.
 *
 * For `drainSeconds`, the server still accepts requests, while `/readyz` fails so that load balancers stop sending
 * them. Then `endWaits` is called, and it stops listening. Connections that are still open after another `closeTimeoutMs` are closed.
 */
export function shutDownGracefully(
  app: FastifyInstance,
  drainSeconds: number,
  { closeTimeoutMs }: Pick<TimeLimits, 'closeTimeoutMs'>,
  endWaits: () => Promise<void>,
): void {
  let isClosing = false;
  // Fastify itself does this only for requests that arrive after closing has begun.
  app.addHook('onSend', async (_request, reply) => {
    if (isClosing) reply.header('connection', 'close');
  });
  app.addHook('preClose', async () => {
    isClosing = true;
    await sleep(drainSeconds * 1000);
    // Not earlier, because the clients send their next requests at once, and load balancers then send them elsewhere.
    await endWaits();
    // Reads requests that have already arrived. Otherwise they would be lost with their connections.
    await nextLoopTurn();
    // Clients that never finish a request must not keep the process from exiting.
    const deadline = setTimeout(() => app.server.closeAllConnections(), closeTimeoutMs).unref();
    app.server.once('close', () => clearTimeout(deadline));
  });
}
