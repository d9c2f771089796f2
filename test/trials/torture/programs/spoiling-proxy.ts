import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { drawName } from '../../../support/drawing.ts';
import { type HttpServer, startHttpServer } from '../../../support/http-server.ts';

/**
 * What happens to requests. `before` and `after` break the connection before and after the work of the server.
 * `unavailable` is rare, because a program then waits for a second.
 */
const shares = { none: 80, before: 10, after: 10, unavailable: 1 };

const FORWARDED_HEADERS = ['authorization', 'content-type', 'idempotency-key'];

/** A proxy that spoils a share of the requests. */
export interface SpoilingProxy extends HttpServer {
  counts: Record<keyof typeof shares, number>;
  /** Number of requests that wait for an event at the moment. */
  readonly waiting: number;
}

/** @param hidesKeys removes the header `Idempotency-Key`, and breaks the connection after every other write */
export async function startSpoilingProxy(
  target: string,
  { hidesKeys = false } = {},
): Promise<SpoilingProxy> {
  const counts = { none: 0, before: 0, after: 0, unavailable: 0 };
  let waiting = 0;
  let writes = 0;

  async function forward(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { method = '', url = '' } = incoming;
    const body = await buffer(incoming);
    const isBroken = hidesKeys && method === 'POST' && writes++ % 2 === 0;
    const fault = isBroken ? 'after' : drawName(shares);
    counts[fault] += 1;
    if (fault === 'before') return void outgoing.destroy();
    if (fault === 'unavailable') {
      // As of a proxy without a server.
      outgoing.writeHead(503, { 'content-type': 'text/html', 'retry-after': '1' });
      return void outgoing.end('<h1>503 Service Unavailable</h1>');
    }
    const controller = new AbortController();
    outgoing.once('close', () => controller.abort());
    const headers = FORWARDED_HEADERS.flatMap((name): [string, string][] => {
      const value = incoming.headers[name];
      const isHidden = hidesKeys && name === 'idempotency-key';
      return typeof value === 'string' && !isHidden ? [[name, value]] : [];
    });
    const response = await fetch(target + url, {
      method,
      headers,
      signal: controller.signal,
      ...(body.length > 0 && { body }),
    });
    const responseBody = Buffer.from(await response.arrayBuffer());
    if (fault === 'after') return void outgoing.destroy();
    const type = response.headers.get('content-type') ?? 'application/json';
    const retryAfter = response.headers.get('retry-after');
    outgoing.writeHead(response.status, {
      'content-type': type,
      ...(retryAfter && { 'retry-after': retryAfter }),
    });
    outgoing.end(responseBody);
  }

  const server = await startHttpServer((incoming, outgoing) => {
    const isWaiting = /[?&]wait=/.test(incoming.url ?? '');
    if (isWaiting) waiting += 1;
    outgoing.once('close', () => {
      if (isWaiting) waiting -= 1;
    });
    // The server restarts, or the client has been killed.
    forward(incoming, outgoing).catch(() => outgoing.destroy());
  });
  return {
    ...server,
    counts,
    get waiting() {
      return waiting;
    },
  };
}
