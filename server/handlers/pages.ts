import type { FastifyReply, FastifyRequest } from 'fastify';

/** Tells where the next page is. */
export function linkNextPage(
  request: FastifyRequest,
  reply: FastifyReply,
  next: string | null,
): void {
  const link = nextPageLink(request.url, next);
  if (link !== null) reply.header('link', link);
}

/** Where the next page is, as the same request with another cursor: a Link header, if there is a next page. */
export function nextPageLink(url: string, next: string | null): string | null {
  if (next === null) return null;
  // Both may hold what should have been encoded: further question marks in the query, angle brackets in the path.
  const [, path = '', query] = /^([^?#]*).?(.*)$/s.exec(url) ?? [];
  const parameters = new URLSearchParams(query);
  parameters.set('cursor', next);
  return `<${encodeURI(path).replaceAll('%25', '%')}?${parameters}>; rel="next"`;
}
