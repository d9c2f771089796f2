import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../config.ts';

/** Tells where the next page is. */
export function linkNextPage(
  config: Pick<Config, 'publicUrl'>,
  request: FastifyRequest,
  reply: FastifyReply,
  next: string | null,
): void {
  const link = nextPageLink(config, request.url, next);
  if (link !== null) reply.header('link', link);
}

/** Where the next page is, as the same request with another cursor: a Link header, if there is a next page. */
export function nextPageLink(
  { publicUrl }: Pick<Config, 'publicUrl'>,
  url: string,
  next: string | null,
): string | null {
  if (next === null) return null;
  // A proxy may have taken off a folder that clients see.
  const folder = new URL(publicUrl).pathname.replace(/\/$/, '');
  // Both may hold what should have been encoded: further question marks in the query, angle brackets in the path.
  const [, path = '', query] = /^([^?#]*).?(.*)$/s.exec(url) ?? [];
  const parameters = new URLSearchParams(query);
  parameters.set('cursor', next);
  return `<${folder}${encodeURI(path).replaceAll('%25', '%')}?${parameters}>; rel="next"`;
}
