import type { FastifyInstance } from 'fastify';
import { notFound } from './problems.ts';

/** Responds to unknown paths with 404, before any body is read. */
export function rejectUnknownPaths(app: FastifyInstance): void {
  app.addHook('onRequest', async (request) => {
    if (request.is404) throw notFound();
  });
  // For `reply.callNotFound()`, which plugins call.
  app.setNotFoundHandler(() => {
    throw notFound();
  });
}
