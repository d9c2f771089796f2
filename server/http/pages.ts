import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../config.ts';
import type { PageRequest, Position } from '../pagination.ts';
import { openCursor, sealCursor } from './cursors.ts';

const DEFAULT_LIMIT = 20;

/** What a request to a list needs of the context. */
interface PageContext {
  config: Pick<Config, 'publicUrl'>;
  cursorKey: Uint8Array;
}

/**
 * Returns the page that a request asks for.
 * @throws HttpProblem `invalid_cursor`
 */
export function pageOfRequest({ cursorKey }: PageContext, request: FastifyRequest): PageRequest {
  const { limit = DEFAULT_LIMIT, cursor } = (request.query ?? {}) as PageParameters;
  const position =
    cursor === undefined ? undefined : openCursor(cursorKey, listOf(request), cursor);
  return { limit, position };
}

/** Links the next page, if there is one, in the Link header of the response. */
export function linkNextPage(
  { config, cursorKey }: PageContext,
  request: FastifyRequest,
  reply: FastifyReply,
  next: Position | null,
): void {
  if (next === null) return;
  const cursor = sealCursor(cursorKey, listOf(request), next);
  reply.header('link', `<${urlWithCursor(config, request.url, cursor)}>; rel="next"`);
}

interface PageParameters {
  limit?: number;
  cursor?: string;
}

/** Identifies a list: the operation and every parameter except those that choose a page of it. */
function listOf({ routeOptions, params, query }: FastifyRequest): string {
  const { limit: _limit, cursor: _cursor, ...parameters } = (query ?? {}) as PageParameters;
  const sorted = Object.entries({ ...parameters, ...(params as object) }).sort(([a], [b]) =>
    a < b ? -1 : 1,
  );
  return JSON.stringify([routeOptions.config.operation?.operationId, sorted]);
}

/** The same URL with another cursor, relative to the host. */
export function urlWithCursor(
  { publicUrl }: Pick<Config, 'publicUrl'>,
  url: string,
  cursor: string,
): string {
  // A proxy may have removed a folder that clients see.
  const folder = new URL(publicUrl).pathname.replace(/\/$/, '');
  // Both may have characters that should have been encoded: question marks in the query, angle brackets in the path.
  const [, path = '', query] = /^([^?#]*).?(.*)$/s.exec(url) ?? [];
  const parameters = new URLSearchParams(query);
  parameters.set('cursor', cursor);
  return `${folder}${encodeURI(path).replaceAll('%25', '%')}?${parameters}`;
}
