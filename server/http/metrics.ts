import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { collectDefaultMetrics, Histogram, Registry } from 'prom-client';
import type { Context } from '../context.ts';
import type { Operation } from '../contract.ts';
import { Refusal } from '../refusal.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The operation of the contract that a route serves. */
    operation?: Operation;
  }
}

/** Measures requests by operation and serves the figures at `/metrics` to whoever has the token, if there is one. */
export function countRequests(app: FastifyInstance, { config }: Pick<Context, 'config'>): void {
  const { metricsToken } = config;
  if (metricsToken === null) return;
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const durations = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'How long requests took, by operation of the contract and status',
    labelNames: ['operation', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers: [registry],
  });
  app.addHook('onResponse', async (request, reply) => {
    const operation = request.routeOptions.config.operation?.operationId ?? 'none';
    durations.observe({ operation, status: reply.statusCode }, reply.elapsedTime / 1000);
  });
  app.get('/metrics', async (request, reply) => {
    const token = /^bearer +(.*)$/i.exec(request.headers.authorization ?? '')?.[1];
    if (token === undefined || !isSame(token, metricsToken)) {
      throw new Refusal(
        'unauthenticated',
        'Send METRICS_TOKEN as "Authorization: Bearer <token>".',
      );
    }
    return reply.type(registry.contentType).send(await registry.metrics());
  });
}

/** Compares in a time that tells nothing of where two texts differ. */
function isSame(a: string, b: string): boolean {
  const hash = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(hash(a), hash(b));
}
