import type { FastifyReply, FastifyRequest } from 'fastify';

/** Tells where the next page is, as the same request with another cursor. */
export function linkNextPage(
  request: FastifyRequest,
  reply: FastifyReply,
  next: string | null,
): void {
  if (next === null) return;
  // Both may hold what should have been encoded: further question marks in the query, angle brackets in the path.
  const [, path = '', query] = /^([^?#]*).?(.*)$/s.exec(request.url) ?? [];
  const parameters = new URLSearchParams(query);
  parameters.set('cursor', next);
  reply.header('link', `<${encodeURI(path).replaceAll('%25', '%')}?${parameters}>; rel="next"`);
}
