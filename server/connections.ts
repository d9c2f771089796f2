import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { drain } from './avatars/upload.ts';
import { HttpProblem, type ProblemCode, problemDocument, statuses } from './problems.ts';

/** How long a request may take to arrive, and how often that is looked at, in milliseconds. */
export const CONNECTION_LIMITS = {
  requestTimeout: 30_000,
  http: {
    headersTimeout: 10_000,
    connectionsCheckingInterval: 1_000,
    // Judged below, where it can be explained.
    requireHostHeader: false,
  },
} as const;

/** Refuses requests whose headers could mean different things to different servers on the way. */
export function refuseOddHeaders(app: FastifyInstance): void {
  app.addHook('onRequest', async ({ raw }) => {
    const hosts = raw.rawHeaders.filter(
      (name, i) => i % 2 === 0 && name.toLowerCase() === 'host',
    ).length;
    if (hosts > 1 || (hosts === 0 && raw.httpVersion !== '1.0')) {
      throw new HttpProblem('invalid_request', 'A request has exactly one Host header.');
    }
  });
  app.server.on('checkExpectation', (_request, response) => {
    const body = documentFor('expectation_failed', 'Only "Expect: 100-continue" is understood.');
    response.writeHead(417, { 'content-type': 'application/problem+json' }).end(body);
  });
  // A refused request may still be arriving: its rest is read up to a bound, so that the answer gets through.
  app.addHook('onResponse', async ({ raw }) => {
    if (!raw.complete) drain(raw);
  });
}

/** Answers what never became a request: nothing of Node's own words goes out. */
export function answerBrokenRequests(app: FastifyInstance): void {
  app.server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) return socket.destroy();
    const [code, detail] = explain(error.code);
    const body = documentFor(code, detail);
    socket.end(
      [
        `HTTP/1.1 ${statuses[code]} ${JSON.parse(body).title}`,
        'Content-Type: application/problem+json',
        `Content-Length: ${Buffer.byteLength(body)}`,
        'Connection: close',
        '',
        body,
      ].join('\r\n'),
    );
  });
}

function explain(code: string | undefined): [ProblemCode, string] {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return ['request_timeout', 'The request did not arrive within 30 seconds.'];
    case 'HPE_HEADER_OVERFLOW':
      return ['headers_too_large', 'The request line and headers may have at most 16,384 bytes.'];
    default:
      return ['invalid_request', 'This is not a valid HTTP request.'];
  }
}

function documentFor(code: ProblemCode, detail: string): string {
  return JSON.stringify(problemDocument(code, detail, randomUUID()));
}
