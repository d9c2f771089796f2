import cluster from 'node:cluster';
import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import type { Context } from '../context.ts';
import type { Operation } from '../contract.ts';
import { DomainError } from '../errors.ts';
import { shareMetrics } from '../metrics/cluster.ts';
import { unavailable } from './problems.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The operation of the contract that a route serves. */
    operation?: Operation;
  }
}

/**
 * Measures requests by operation, and serves the figures of all processes at `/metrics` to whoever has the token, if
 * there is one.
 */
export function countRequests(
  app: FastifyInstance,
  { config: { metricsToken }, metrics }: Pick<Context, 'config' | 'metrics'>,
): void {
  const { registry } = metrics;
  if (registry === null || metricsToken === null) return;
  const read = cluster.isWorker ? shareMetrics(registry) : () => registry.metrics();

  app.addHook('onResponse', async (request, reply) => {
    const operation = request.routeOptions.config.operation?.operationId ?? 'none';
    metrics.noteRequest({ operation, status: reply.statusCode }, reply.elapsedTime / 1000);
  });
  // An overloaded service is when its figures are wanted.
  app.get('/metrics', { config: { isAlwaysAnswered: true } }, async (request, reply) => {
    const token = /^bearer +(.*)$/i.exec(request.headers.authorization ?? '')?.[1];
    if (token === undefined || !isSame(token, metricsToken)) {
      throw new DomainError(
        'unauthenticated',
        'Send METRICS_TOKEN as "Authorization: Bearer <token>".',
      );
    }
    const figures = await read().catch((cause) => {
      throw Object.assign(unavailable(), { cause });
    });
    return reply.type(registry.contentType).send(figures);
  });
}

/** Compares in a time that tells nothing of where two texts differ. */
function isSame(a: string, b: string): boolean {
  const hash = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(hash(a), hash(b));
}
