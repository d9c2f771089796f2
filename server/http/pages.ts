import type { KeyObject } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../config.ts';
import type { Page, PageRequest, Position } from '../pagination.ts';
import { openCursor, sealCursor } from './cursors.ts';
import { type HttpProblem, invalidValues } from './problems.ts';

export const DEFAULT_LIMIT = 20;

/** The parts of the context that pagination uses. */
interface PageContext {
  config: Pick<Config, 'publicUrl'>;
  cursorKey: KeyObject;
}

/**
 * Reads the requested page of a list like `readPageWithLink`, and returns the body of its response.
 * @throws HttpProblem `invalid_cursor`
 */
export async function readPageBody<T>(
  context: PageContext,
  request: FastifyRequest,
  reply: FastifyReply,
  read: (pageRequest: PageRequest) => Promise<Page<T>>,
): Promise<{ items: T[]; next_cursor: string | null }> {
  const { items, nextCursor } = await readPageWithLink(context, request, reply, read);
  return { items, next_cursor: nextCursor };
}

/**
 * Reads the requested page of a list, and adds a Link header with the URL of the next page, if there is one.
 * @returns the page and the cursor in its Link header; null on the last page
 * @throws HttpProblem `invalid_cursor`
 */
export async function readPageWithLink<P extends { next: Position | null }>(
  context: PageContext,
  request: FastifyRequest,
  reply: FastifyReply,
  read: (pageRequest: PageRequest) => Promise<P>,
): Promise<P & { nextCursor: string | null }> {
  const page = await read(readPageRequest(context, request));
  if (page.next === null) return { ...page, nextCursor: null };
  const nextCursor = sealCursor(context.cursorKey, listIdOf(request), page.next);
  reply.header('link', `<${pathOfPage(context.config, request, nextCursor)}>; rel="next"`);
  return { ...page, nextCursor };
}

/**
 * Rejects parameters of a list that can be followed if they exclude each other.
 * @throws HttpProblem `invalid_request`
 */
export function assertFollowable({ after, wait, cursor }: PageParameters): void {
  if (after !== undefined && cursor !== undefined) {
    throw conflict('cursor', 'must not be used together with after');
  }
  if (after === undefined && wait !== undefined) throw conflict('wait', 'needs after');
}

/**
 * Rejects parameters of a list that exclude a search in it.
 * @throws HttpProblem `invalid_request`
 */
export function assertSearchable({ q, ...others }: PageParameters & { q?: string }): void {
  if (q === undefined) return;
  for (const name of ['around', 'after', 'wait'] as const) {
    if (others[name] !== undefined) throw conflict(name, 'must not be used together with q');
  }
}

function conflict(pointer: string, message: string): HttpProblem {
  return invalidValues([{ in: 'query', pointer, code: 'conflicting', message }]);
}

/** Calls `end` when the client disconnects. */
export function onDisconnect(reply: FastifyReply, end: () => void): void {
  if (reply.raw.closed) end();
  else reply.raw.once('close', end);
}

/** Returns a cursor for the parameter `after` of the requested list. */
export function sealNewerCursor(
  { cursorKey }: PageContext,
  request: FastifyRequest,
  position: Position,
): string {
  return sealCursor(cursorKey, newerIdOf(request), position);
}

/**
 * Returns the position in the parameter `after`.
 * @throws HttpProblem `invalid_cursor`
 */
export function openNewerCursor(
  { cursorKey }: PageContext,
  request: FastifyRequest,
  cursor: string,
): Position {
  return openCursor(cursorKey, newerIdOf(request), cursor, 'after');
}

/**
 * Differs from the identity of the list, because the positions of `cursor` have another meaning. Without the order of
 * the list, because changes have their own, and without a search in it, because all items are followed.
 */
function newerIdOf(request: FastifyRequest): string {
  return `newer ${listIdOf(request, ['sort', 'q'])}`;
}

function readPageRequest({ cursorKey }: PageContext, request: FastifyRequest): PageRequest {
  const { limit = DEFAULT_LIMIT, cursor } = (request.query ?? {}) as PageParameters;
  const position =
    cursor === undefined ? undefined : openCursor(cursorKey, listIdOf(request), cursor);
  return { limit, position };
}

interface PageParameters {
  limit?: number;
  around?: string;
  cursor?: string;
  after?: string;
  wait?: number;
}

const PAGE_PARAMETERS: readonly string[] = [
  'limit',
  'around',
  'cursor',
  'after',
  'wait',
] satisfies (keyof PageParameters)[];

/** Returns the identity of a list: the operation and all parameters except those that select a page. */
function listIdOf(
  { routeOptions, params, query }: FastifyRequest,
  omitted: readonly string[] = [],
): string {
  const sorted = Object.entries({ ...(query ?? {}), ...(params as object) })
    .filter(([name]) => !PAGE_PARAMETERS.includes(name) && !omitted.includes(name))
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([routeOptions.config.operation?.operationId, sorted]);
}

/** Returns path and query of a page of the requested list. */
function pathOfPage(
  { publicUrl }: Pick<Config, 'publicUrl'>,
  { routeOptions, params, url }: FastifyRequest,
  cursor: string,
): string {
  // A proxy may have removed this prefix from the path.
  const prefix = new URL(publicUrl).pathname.replace(/\/$/, '');
  // Built from the route, because the request target may have unencoded characters, such as angle brackets.
  const values = params as Record<string, string>;
  const path = (routeOptions.url ?? '').replace(/:(\w+)/g, (_, name: string) =>
    encodeURIComponent(values[name] ?? ''),
  );
  // Like the router, also ends the path at a `#`.
  const [, query] = /^[^?#]*.?(.*)$/s.exec(url) ?? [];
  const sent = [...new URLSearchParams(query)];
  // Unknown parameters have no effect, and encoding them could make the header longer than clients accept.
  const known = routeOptions.config.operation?.parameters ?? [];
  const parameters = new URLSearchParams(
    sent.filter(([name]) => known.some((each) => each.in === 'query' && each.name === name)),
  );
  parameters.set('cursor', cursor);
  return `${prefix}${path}?${parameters}`;
}
