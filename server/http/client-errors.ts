import { randomUUID } from 'node:crypto';
import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyBaseLogger } from 'fastify';
import { PROBLEM_STATUSES, type ProblemCode } from '../../generated/problem-codes.gen.ts';
import type { Problem } from '../../generated/types.gen.ts';
import type { Config } from '../config.ts';
import { corsHeaders } from './cors-headers.ts';
import { drain, isDraining } from './draining.ts';
import { problemDocument } from './problems.ts';
import { TIME_LIMITS } from './time-limits.ts';

type Log = Pick<FastifyBaseLogger, 'info'>;

// Node.js reports malformed and late requests, and unsupported Expect headers, as events of the server. Fastify's error
// handler and `onSend` hooks do not see these responses, so this module writes them completely.

/** The responses on each connection that have not been sent completely, in the order of their requests. */
const openResponses = new WeakMap<Socket, Set<ServerResponse>>();

/** Makes `clientErrorHandler` wait until a server has answered earlier requests on the connection. */
export function recordResponses({ server }: { server: Server }): void {
  server.on('request', ({ socket }, response) => {
    const responses = openResponses.get(socket) ?? new Set();
    openResponses.set(socket, responses.add(response));
    // A connection that waits for its next request must not keep the last one in memory.
    response.once('close', () => responses.delete(response));
  });
}

/** Returns a handler for requests that Node.js cannot parse, or that do not arrive in time. */
export function clientErrorHandler({ corsOrigins }: Pick<Config, 'corsOrigins'>, log: Log) {
  const respond = (socket: Socket, errorCode: string | undefined) => {
    // While a body is drained, its response has already been sent.
    if (!socket.writable || isDraining(socket)) {
      socket.destroy();
      return;
    }
    const problem = problemOf(errorCode);
    const { status, title, request_id, body } = logProblem(log, problem.code, problem.detail);
    socket.end(
      [
        `HTTP/1.1 ${status} ${title}`,
        'Content-Type: application/problem+json',
        `Content-Length: ${Buffer.byteLength(body)}`,
        'Cache-Control: no-store',
        `X-Request-Id: ${request_id}`,
        ...Object.entries(corsHeaders(corsOrigins)).map((header) => header.join(': ')),
        'Connection: close',
        '',
        body,
      ].join('\r\n'),
    );
  };
  /** Connections whose error response waits for the response to an earlier request. */
  const waiting = new WeakSet<Socket>();
  return ({ code }: NodeJS.ErrnoException, socket: Socket) => {
    if (code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    // If only its body is malformed, the last one is the response to the malformed request itself.
    const pending = [...(openResponses.get(socket) ?? [])].findLast(({ req }) => req.complete);
    if (!pending) {
      respond(socket, code);
      return;
    }
    // Each further chunk of a malformed request is another error.
    if (waiting.has(socket)) return;
    waiting.add(socket);
    // Otherwise, the client would take this response for the one to the pending request.
    pending.once('close', () => respond(socket, code));
  };
}

/** Rejects requests with an Expect header other than `100-continue`. */
export function rejectUnsupportedExpectations({ server, log }: { server: Server; log: Log }): void {
  server.on('checkExpectation', (request, response) => {
    drain(request);
    const { status, request_id, body } = logProblem(
      log,
      'expectation_failed',
      'The only supported expectation is "Expect: 100-continue".',
    );
    response
      .writeHead(status, {
        'content-type': 'application/problem+json',
        'content-length': Buffer.byteLength(body),
        'cache-control': 'no-store',
        'x-request-id': request_id,
      })
      .end(body);
  });
}

function problemOf(errorCode: string | undefined): { code: ProblemCode; detail: string } {
  const { headersTimeoutMs, requestTimeoutMs } = TIME_LIMITS;
  switch (errorCode) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return {
        code: 'request_timeout',
        detail: `The headers must arrive within ${headersTimeoutMs / 1000} seconds, and the whole request within ${requestTimeoutMs / 1000} seconds.`,
      };
    case 'HPE_HEADER_OVERFLOW':
      return {
        code: 'headers_too_large',
        detail: 'The request line and headers are larger than 16,384 bytes.',
      };
    default:
      return { code: 'invalid_request', detail: 'The request is not valid HTTP.' };
  }
}

/** Returns a problem document, and logs its code and request id. */
function logProblem(log: Log, code: ProblemCode, detail: string): Problem & { body: string } {
  const reqId = randomUUID();
  const problem = problemDocument(code, detail, reqId);
  log.info({ reqId, status: PROBLEM_STATUSES[code], code }, 'request answered');
  return { ...problem, body: JSON.stringify(problem) };
}
