import type { IncomingHttpHeaders } from 'node:http';
import type { Config } from '../config.ts';

// Without imports of Fastify, because responses that Fastify does not send need the same headers.

type Origins = Config['corsOrigins'];

export const CORS_METHODS = ['GET', 'PUT', 'POST', 'PATCH', 'DELETE'];

/** Headers that browsers show to pages of other origins, in addition to those that they always show. */
export const EXPOSED_HEADERS = [
  'Answered-Query',
  'ETag',
  'Link',
  'Retry-After',
  'WWW-Authenticate',
  'RateLimit-Limit',
  'RateLimit-Policy',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'X-Request-Id',
];

export const PREFLIGHT_MAX_AGE_SECONDS = 86_400;

/**
 * Returns the headers that make a response readable for pages of the allowed origins.
 * @param origin the Origin header; undefined if it is missing or unknown, as for a malformed request. Without it, only
 *   the setting `*` allows pages to read the response.
 */
export function corsHeaders(origins: Origins, origin?: string): Record<string, string> {
  const exposed = { 'access-control-expose-headers': EXPOSED_HEADERS.join(', ') };
  if (origins === '*') return { 'access-control-allow-origin': '*', ...exposed };
  const isAllowed = origin !== undefined && origins.includes(origin);
  return {
    vary: 'Origin',
    ...(isAllowed && { 'access-control-allow-origin': origin }),
    ...exposed,
  };
}

/** Returns the headers of the response to a preflight request. */
export function preflightHeaders(
  origins: Origins,
  { origin, 'access-control-request-headers': requestedHeaders }: IncomingHttpHeaders,
): Record<string, string> {
  const { vary, ...headers } = corsHeaders(origins, origin);
  return {
    ...headers,
    'access-control-allow-methods': CORS_METHODS.join(', '),
    'access-control-max-age': String(PREFLIGHT_MAX_AGE_SECONDS),
    vary: [vary, 'Access-Control-Request-Headers'].filter(Boolean).join(', '),
    ...(requestedHeaders !== undefined && { 'access-control-allow-headers': requestedHeaders }),
  };
}
