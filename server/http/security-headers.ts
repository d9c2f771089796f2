import helmet from '@fastify/helmet';
import type { FastifyInstance } from 'fastify';

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
