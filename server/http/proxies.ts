import type { FastifyInstance } from 'fastify';
import type { Config } from '../config.ts';

/** Logs one warning if a proxy forwards requests but TRUST_PROXY is empty: its clients would share one rate limit. */
export function warnAboutUntrustedProxy(
  app: FastifyInstance,
  { trustProxy }: Pick<Config, 'trustProxy'>,
): void {
  if (trustProxy.length > 0) return;
  let hasWarned = false;
  app.addHook('onRequest', async (request) => {
    if (hasWarned || request.headers['x-forwarded-for'] === undefined) return;
    hasWarned = true;
    request.log.warn(
      'X-Forwarded-For is ignored. If one of your proxies sends it, add the address of the proxy to TRUST_PROXY.',
    );
  });
}
