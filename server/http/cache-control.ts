import type { FastifyInstance } from 'fastify';

/** Prevents caches from storing responses for one caller, such as profiles and tokens. */
export function preventCaching(app: FastifyInstance): void {
  app.addHook('onSend', async (request, reply) => {
    const { operation } = request.routeOptions.config;
    const isPublic = !operation || (operation.isPublicRead && request.caller === null);
    if (!isPublic) reply.header('cache-control', 'no-store');
  });
}
