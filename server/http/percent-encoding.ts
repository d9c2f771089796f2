import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { HttpProblem } from './problems.ts';

export function isPercentEncodedUtf8(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

function malformedPath(): HttpProblem {
  return new HttpProblem('invalid_request', 'The path is not valid percent-encoded UTF-8.');
}

export function malformedQuery(): HttpProblem {
  const message = 'is not valid percent-encoded UTF-8';
  return new HttpProblem('invalid_request', `The query string ${message}.`, {
    pointers: [{ in: 'query', pointer: '', code: 'malformed', message }],
  });
}

const withMalformedPath = new WeakSet<IncomingMessage>();

/**
 * Returns the URL of a request with `%` escaped in a malformed path. `rejectMalformedPaths` then rejects the request.
 *
 * Otherwise the router would reject it without running hooks, and browsers would hide the response from the page,
 * because it would have no CORS headers.
 */
export function escapeMalformedPath(request: IncomingMessage, url: string): string {
  const [path = ''] = url.split(/[?#]/, 1);
  if (isPercentEncodedUtf8(path)) return url;
  withMalformedPath.add(request);
  return path.replaceAll('%', '%25') + url.slice(path.length);
}

/** Responds with 400 to paths that are not percent-encoded UTF-8. */
export function rejectMalformedPaths(app: FastifyInstance): void {
  app.addHook('onRequest', async ({ raw }) => {
    if (withMalformedPath.has(raw)) throw malformedPath();
  });
}
