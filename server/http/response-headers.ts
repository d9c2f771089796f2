import helmet from '@fastify/helmet';
import type { FastifyInstance } from 'fastify';

/** Removes the charset that Fastify adds to JSON types: RFC 8259 defines none, and the contract names none. */
export function omitJsonCharset(app: FastifyInstance): void {
  app.addHook('onSend', async (_request, reply) => {
    const header = String(reply.getHeader('content-type'));
    const type = /^(application\/(?:problem\+)?json);/.exec(header)?.[1];
    if (type) reply.header('content-type', type);
  });
}

/** Prevents caches from storing responses for one caller, such as profiles and tokens. */
export function preventCaching(app: FastifyInstance): void {
  app.addHook('onSend', async (request, reply) => {
    const { operation } = request.routeOptions.config;
    const isPublic = !operation || (operation.isPublicRead && request.caller === null);
    if (!isPublic) reply.header('cache-control', 'no-store');
  });
}

/** Sets headers that prevent browsers from guessing content types, framing responses and running scripts in them. */
export async function setSecurityHeaders(app: FastifyInstance): Promise<void> {
  await app.register(helmet, {
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
    },
    // The proxy that terminates TLS sets this header.
    strictTransportSecurity: false,
  });
}
