import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../config.ts';

/** Sets the Link header to the next page, if there is one. */
export function linkNextPage(
  config: Pick<Config, 'publicUrl'>,
  request: FastifyRequest,
  reply: FastifyReply,
  nextCursor: string | null,
): void {
  const link = nextPageLink(config, request.url, nextCursor);
  if (link !== null) reply.header('link', link);
}

/**
 * Returns the value of the Link header to the next page: the URL of this request with another cursor (RFC 8288).
 * @param url path and query of this request
 * @returns null if there is no next page
 */
export function nextPageLink(
  { publicUrl }: Pick<Config, 'publicUrl'>,
  url: string,
  nextCursor: string | null,
): string | null {
  if (nextCursor === null) return null;
  // A proxy may have removed a path prefix that clients need.
  const prefix = new URL(publicUrl).pathname.replace(/\/$/, '');
  const [, path = '', query] = /^([^?#]*).?(.*)$/s.exec(url) ?? [];
  const parameters = new URLSearchParams(query);
  parameters.set('cursor', nextCursor);
  // The path may contain characters that clients should have encoded, such as angle brackets.
  const encodedPath = encodeURI(path).replaceAll('%25', '%');
  return `<${prefix}${encodedPath}?${parameters}>; rel="next"`;
}
