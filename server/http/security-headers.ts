import helmet from '@fastify/helmet';
import type { FastifyInstance } from 'fastify';

/** Sets the headers that keep browsers from guessing types and from framing or executing responses. */
export async function setSecurityHeaders(app: FastifyInstance): Promise<void> {
  await app.register(helmet, {
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
    },
    // Only the proxy that terminates TLS knows whether clients may be bound to it.
    strictTransportSecurity: false,
  });
}
