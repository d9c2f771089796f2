import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import { HttpProblem, type ProblemCode, problemDocument, statuses } from './problems.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether a route is needed most when there is too much to do. */
    isAlwaysAnswered?: boolean;
  }
}

/** In milliseconds. */
export interface TimeLimits {
  /** How long the request line and headers may take to arrive. */
  headersTimeout: number;
  /** How long a whole request may take to arrive. */
  requestTimeout: number;
  /** How long nothing may arrive or be taken on a connection on which something is being answered. */
  connectionTimeout: number;
  /** How often to look whether one has taken too long. */
  checkingInterval: number;
  /** How long what has begun may take to end once the service listens no more. */
  closeTimeout: number;
  /** How long the event loop may take to come round, again and again, before requests are turned away. */
  eventLoopDelay: number;
}

export const TIME_LIMITS: TimeLimits = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionTimeout: 120_000,
  checkingInterval: 1_000,
  closeTimeout: 7_000,
  eventLoopDelay: 250,
};

/** The limits as Fastify takes them, and an answer for what never became a request. */
export function connectionOptions(limits: TimeLimits, log: FastifyBaseLogger) {
  return {
    requestTimeout: limits.requestTimeout,
    connectionTimeout: limits.connectionTimeout,
    http: {
      headersTimeout: limits.headersTimeout,
      connectionsCheckingInterval: limits.checkingInterval,
      // Judged below, where it can be explained.
      requireHostHeader: false,
    },
    clientErrorHandler: (error: NodeJS.ErrnoException, socket: Socket) => {
      if (error.code === 'ECONNRESET' || !socket.writable || draining.has(socket)) {
        return void socket.destroy();
      }
      const { status, title, body } = answerOutsideRequests(log, ...explain(error.code));
      socket.end(
        [
          `HTTP/1.1 ${status} ${title}`,
          'Content-Type: application/problem+json',
          `Content-Length: ${Buffer.byteLength(body)}`,
          'Cache-Control: no-store',
          'Connection: close',
          '',
          body,
        ].join('\r\n'),
      );
    },
  };
}

/** How many requests of one connection may wait for their answers. Browsers and proxies send one at a time. */
const MOST_PIPELINED = 16;

/** Bounds what is read of a request after its answer, and how many are answered at once on a connection. */
export function boundConnections(app: FastifyInstance): void {
  const unanswered = new WeakMap<Socket, number>();
  app.addHook('onRequest', async ({ raw }, reply) => {
    const { socket } = raw;
    const count = (by: number) => {
      const sum = (unanswered.get(socket) ?? 0) + by;
      unanswered.set(socket, sum);
      return sum;
    };
    reply.raw.once('close', () => count(-1));
    if (count(1) <= MOST_PIPELINED) return;
    // Their answers would pile up if nobody took them.
    socket.destroy();
    throw new HttpProblem('invalid_request', 'Too many requests wait on this connection.');
  });
  // Once the answer is out, Node would read all that is still to come.
  app.addHook('onSend', async ({ raw }, reply) => {
    if (!raw.complete) drain(raw);
    // Fastify closes the connection after a body that it refused, which could cost the client the answer.
    reply.removeHeader('connection');
  });
  app.server.on('checkExpectation', (request, response) => {
    drain(request);
    const { status, body } = answerOutsideRequests(
      app.log,
      'expectation_failed',
      'Only "Expect: 100-continue" is understood.',
    );
    const headers = { 'content-type': 'application/problem+json', 'cache-control': 'no-store' };
    response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) }).end(body);
  });
}

/**
 * Has the service stop so that nobody notices: for `drainSeconds` it still takes all requests while it tells whoever
 * balances load to go elsewhere; then what has begun is answered to the end, but for what takes too long.
 */
export function closeGracefully(
  app: FastifyInstance,
  drainSeconds: number,
  { closeTimeout }: TimeLimits,
): void {
  let isClosing = false;
  // Of requests that come from now on, Fastify knows it by itself; others are being answered.
  app.addHook('onSend', async (_request, reply) => {
    if (isClosing) reply.header('connection', 'close');
  });
  app.addHook('preClose', async () => {
    isClosing = true;
    await sleep(drainSeconds * 1000);
    // What has arrived by now is read first, or it would be lost with its connection.
    await turn();
    // A client that never finishes its request must not keep the service from stopping.
    const deadline = setTimeout(() => app.server.closeAllConnections(), closeTimeout).unref();
    app.server.once('close', () => clearTimeout(deadline));
  });
}

/** Refuses requests whose headers could mean different things to different servers on the way. */
export function refuseOddHeaders(app: FastifyInstance): void {
  app.addHook('onRequest', async ({ raw }) => {
    const hosts = raw.rawHeaders.filter(
      (name, i) => i % 2 === 0 && name.toLowerCase() === 'host',
    ).length;
    if (hosts > 1 || (hosts === 0 && raw.httpVersion !== '1.0')) {
      throw new HttpProblem('invalid_request', 'A request has exactly one Host header.');
    }
    if (!/^(chunked)?$/i.test(raw.headers['transfer-encoding'] ?? '')) {
      throw new HttpProblem('invalid_request', 'The only transfer encoding possible is chunked.');
    }
  });
}

/** The connections on which the rest of an answered request is still arriving. */
const draining = new WeakSet<Socket>();

/**
 * Reads and forgets the rest of a request, within bounds, and then cuts the connection. Neither leaving the rest
 * unread nor closing at once would do: the first stalls the client and keeps the server from closing, the second
 * can cost the client the answer.
 */
export function drain(raw: IncomingMessage, maxBytes = 16 * 1024 * 1024, maxMs = 30_000): void {
  const { socket } = raw;
  if (raw.readableEnded || raw.destroyed || draining.has(socket)) return;
  draining.add(socket);
  let left = maxBytes;
  const deadline = setTimeout(() => raw.destroy(), maxMs).unref();
  for (const event of ['end', 'close']) {
    raw.once(event, () => {
      draining.delete(socket);
      clearTimeout(deadline);
    });
  }
  raw.unpipe();
  raw.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) raw.destroy();
  });
  raw.resume();
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

/** The problem document for what no route sees, noted in the log under its id. */
function answerOutsideRequests(log: FastifyBaseLogger, code: ProblemCode, detail: string) {
  const reqId = randomUUID();
  const problem = problemDocument(code, detail, reqId);
  log.info({ reqId, status: statuses[code], code }, 'request answered');
  return { ...problem, body: JSON.stringify(problem) };
}
