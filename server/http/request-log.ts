import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../config.ts';

/** Writes a line for each request that was answered. */
export function logRequests(app: FastifyInstance): void {
  app.addHook('onResponse', async (request, reply) => logRequest(request, reply));
}

export function logRequest(request: FastifyRequest, reply: FastifyReply): void {
  const { method, url, ip } = request;
  const milliseconds = Math.round(reply.elapsedTime * 10) / 10;
  request.log.info({ method, url, ip, status: reply.statusCode, milliseconds }, 'request answered');
}

/** Warns, once, of a proxy that is not believed: every client behind it would share one limit. */
export function warnOfUntrustedProxy(
  app: FastifyInstance,
  { trustProxy }: Pick<Config, 'trustProxy'>,
): void {
  if (trustProxy.length > 0) return;
  let hasWarned = false;
  app.addHook('onRequest', async (request) => {
    if (hasWarned || request.headers['x-forwarded-for'] === undefined) return;
    hasWarned = true;
    request.log.warn(
      'X-Forwarded-For is ignored: if a proxy of yours sends it, put its address into TRUST_PROXY',
    );
  });
}
