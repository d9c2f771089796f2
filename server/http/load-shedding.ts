import type { FastifyInstance } from 'fastify';
import type { Engine } from '../database/engine.ts';
import { overloaded } from '../system/concurrency.ts';
import type { TimeLimits } from './time-limits.ts';
import { mayWaitForMessages } from './waits.ts';

/** Small, because a request such as a search has several queries, and each waits behind those of other requests. */
const MAX_WAITING_QUERIES = 50;

const TICK_INTERVAL_MS = 20;

/** Time after the start during which delays are normal. */
const STARTUP_GRACE_MS = 2_000;

/** Maximum time between two delays that together count as overload. */
const MAX_DELAY_INTERVAL_MS = 1_000;

/**
 * Rejects requests with 503 while the event loop is repeatedly delayed, or while too many queries wait for a connection
 * to the database, so that the server can catch up.
 *
 * A single delay is not overload: after a short pause of the machine, the server can process all waiting requests.
 * Routes with `isExemptFromLoadShedding` always respond. So do requests that may wait for messages.
 */
export function shedLoad(
  app: FastifyInstance,
  { engine }: { engine: Pick<Engine, 'activity'> },
  { maxEventLoopDelayMs }: Pick<TimeLimits, 'maxEventLoopDelayMs'>,
): void {
  // Until the grace period ends, infinity prevents any delay from being detected.
  let lastTick = Number.POSITIVE_INFINITY;
  let lastLateTick = Number.NEGATIVE_INFINITY;
  const isLate = (now: number) => now - lastTick > TICK_INTERVAL_MS + maxEventLoopDelayMs;

  app.addHook('onListen', async () => {
    const startedAt = performance.now();
    const timer = setInterval(() => {
      const now = performance.now();
      if (isLate(now)) lastLateTick = now;
      if (now - startedAt > STARTUP_GRACE_MS) lastTick = now;
    }, TICK_INTERVAL_MS).unref();
    app.server.once('close', () => clearInterval(timer));
  });
  app.addHook('onRequest', async (request) => {
    if (request.routeOptions.config.isExemptFromLoadShedding || mayWaitForMessages(request)) return;
    if (engine.activity().waitingQueries > MAX_WAITING_QUERIES) throw overloaded();
    const wasLateBefore = lastTick - lastLateTick < MAX_DELAY_INTERVAL_MS;
    if (wasLateBefore && isLate(performance.now())) throw overloaded();
  });
}
