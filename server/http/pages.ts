import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../config.ts';
import type { PageRequest, Position } from '../pagination.ts';
import { openCursor, sealCursor } from './cursors.ts';

const DEFAULT_LIMIT = 20;

/** The parts of the context that pagination uses. */
interface PageContext {
  config: Pick<Config, 'publicUrl'>;
  cursorKey: Uint8Array;
}

/**
 * Reads `limit` and `cursor` of a request.
 * @throws HttpProblem `invalid_cursor`
 */
export function readPageRequest({ cursorKey }: PageContext, request: FastifyRequest): PageRequest {
  const { limit = DEFAULT_LIMIT, cursor } = (request.query ?? {}) as PageParameters;
  const position =
    cursor === undefined ? undefined : openCursor(cursorKey, listIdOf(request), cursor);
  return { limit, position };
}

/** Adds a Link header with the URL of the next page, if there is one. */
export function linkNextPage(
  { config, cursorKey }: PageContext,
  request: FastifyRequest,
  reply: FastifyReply,
  next: Position | null,
): void {
  if (next === null) return;
  const cursor = sealCursor(cursorKey, listIdOf(request), next);
  reply.header('link', `<${urlWithCursor(config, request.url, cursor)}>; rel="next"`);
}

interface PageParameters {
  limit?: number;
  cursor?: string;
}

/** Returns the identity of a list: the operation and all parameters except those that select a page. */
function listIdOf({ routeOptions, params, query }: FastifyRequest): string {
  const { limit: _limit, cursor: _cursor, ...parameters } = (query ?? {}) as PageParameters;
  const sorted = Object.entries({ ...parameters, ...(params as object) }).sort(([a], [b]) =>
    a < b ? -1 : 1,
  );
  return JSON.stringify([routeOptions.config.operation?.operationId, sorted]);
}

/** Returns the path and query of a URL, with another cursor. */
export function urlWithCursor(
  { publicUrl }: Pick<Config, 'publicUrl'>,
  url: string,
  cursor: string,
): string {
  // A proxy may have removed this prefix from the path.
  const prefix = new URL(publicUrl).pathname.replace(/\/$/, '');
  // Not parsed as a URL, because clients may send unencoded characters, such as angle brackets in the path.
  const [, path = '', query] = /^([^?#]*).?(.*)$/s.exec(url) ?? [];
  const parameters = new URLSearchParams(query);
  parameters.set('cursor', cursor);
  // `encodeURI` also encodes the percent signs of characters that are already encoded.
  const encodedPath = encodeURI(path).replaceAll('%25', '%');
  return `${prefix}${encodedPath}?${parameters}`;
}
