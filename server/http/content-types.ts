import type { FastifyInstance } from 'fastify';

/** Removes the charset that Fastify adds to JSON types: RFC 8259 defines none, and the contract names none. */
export function omitJsonCharset(app: FastifyInstance): void {
  app.addHook('onSend', async (_request, reply) => {
    const header = String(reply.getHeader('content-type'));
    const type = /^(application\/(?:problem\+)?json);/.exec(header)?.[1];
    if (type) reply.header('content-type', type);
  });
}
