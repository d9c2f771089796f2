import type { FastifyInstance } from 'fastify';

/** Keeps caches from storing responses that are meant for one caller, such as profiles and tokens. */
export function preventCaching(app: FastifyInstance): void {
  app.addHook('onSend', async (request, reply) => {
    const { operation } = request.routeOptions.config;
    const isForAnyone = !operation || (operation.isPublicRead && request.caller === null);
    if (!isForAnyone) reply.header('cache-control', 'no-store');
  });
}
