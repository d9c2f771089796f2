import type { FastifyReply, FastifyRequest } from 'fastify';

/** Tells where the next page is, as the same request with another cursor. */
export function linkNextPage(
  request: FastifyRequest,
  reply: FastifyReply,
  next: string | null,
): void {
  if (next === null) return;
  const [path = '', query] = request.url.split('?', 2);
  const parameters = new URLSearchParams(query);
  parameters.set('cursor', next);
  reply.header('link', `<${path}?${parameters}>; rel="next"`);
}
