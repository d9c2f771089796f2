import { METHODS } from 'node:http';
import type { FastifyInstance, HTTPMethods } from 'fastify';
import { methodNotAllowed } from './problems.ts';

/** Returns a set of the paths of all routes. It grows as routes are registered. */
export function collectPaths(app: FastifyInstance): ReadonlySet<string> {
  const paths = new Set<string>();
  app.addHook('onRoute', ({ url }) => {
    // @fastify/cors registers OPTIONS for every path.
    if (url !== '*') paths.add(url);
  });
  return paths;
}

/**
 * Responds with 405 to methods that a path does not support.
 *
 * Without this, a more general path could match: `DELETE /api/spaces/search` must not delete a space with the id
 * `search`.
 */
export function rejectOtherMethods(app: FastifyInstance, paths: ReadonlySet<string>): void {
  for (const method of METHODS) {
    if (!app.supportedMethods.includes(method)) app.addHttpMethod(method);
  }
  // Copied, because the routes below add their own paths to the set.
  for (const url of [...paths]) {
    const hasRoute = (method: string) => app.hasRoute({ method: method as HTTPMethods, url });
    const allowed = app.supportedMethods.filter(hasRoute);
    app.route({
      method: app.supportedMethods.filter((method) => method !== 'OPTIONS' && !hasRoute(method)),
      url,
      // In a hook, because the handler runs only after the body is read.
      onRequest: async (request) => {
        throw methodNotAllowed(request.method, allowed);
      },
      handler: async () => {},
    });
  }
}
