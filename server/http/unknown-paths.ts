import type { FastifyInstance } from 'fastify';
import { notFound } from './problems.ts';
import type { LimitReads } from './rate-limits.ts';

/** Responds to unknown paths with 404, before any body is read. They count as reads. */
export function rejectUnknownPaths(app: FastifyInstance, limitReads: LimitReads): void {
  const [limit] = limitReads();
  app.addHook('onRequest', (request, reply, done) => {
    if (!request.is404) return done();
    const reject = (error?: Error) => done(error ?? notFound());
    if (limit) limit.call(app, request, reply, reject);
    else reject();
  });
  // For `reply.callNotFound()`, which plugins call.
  app.setNotFoundHandler(() => {
    throw notFound();
  });
}
