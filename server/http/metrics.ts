import cluster from 'node:cluster';
import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import type { Context } from '../context.ts';
import { DomainError } from '../errors.ts';
import { shareMetrics } from '../metrics/cluster.ts';
import { bearerToken } from './authentication.ts';
import { unavailable } from './problems.ts';

/** Measures the duration of each request, by operation and status, including those whose connection closes early. */
export function measureRequests(app: FastifyInstance, { metrics }: Pick<Context, 'metrics'>): void {
  if (metrics.registry === null) return;
  app.addHook('onRequest', async (request, reply) => {
    const operation = request.routeOptions.config.operation?.operationId ?? 'none';
    reply.raw.once('close', () => {
      const status = reply.raw.writableFinished ? reply.statusCode : 'aborted';
      metrics.recordRequest({ operation, status }, reply.elapsedTime / 1000);
    });
  });
}

/** If METRICS_TOKEN is set, serves the metrics of all processes at `/metrics`. Clients must send this token. */
export function serveMetrics(
  app: FastifyInstance,
  { config: { metricsToken }, metrics: { registry } }: Pick<Context, 'config' | 'metrics'>,
): void {
  if (registry === null || metricsToken === null) return;
  const readMetrics = cluster.isWorker ? shareMetrics(registry) : () => registry.metrics();

  // Operators need the metrics of an overloaded service most.
  const config = { takesNoTurns: true };
  app.get('/metrics', { config }, async (request, reply) => {
    const token = bearerToken(request.headers.authorization);
    if (token === undefined || !isEqualInConstantTime(token, metricsToken)) {
      throw new DomainError(
        'unauthenticated',
        'Send METRICS_TOKEN as "Authorization: Bearer <token>".',
      );
    }
    const text = await readMetrics().catch((cause) => {
      throw unavailable(cause);
    });
    return reply.type(registry.contentType).send(text);
  });
}

/** Compares hashes, because `timingSafeEqual` requires equal lengths. */
function isEqualInConstantTime(a: string, b: string): boolean {
  const hash = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(hash(a), hash(b));
}
