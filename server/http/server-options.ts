import { randomUUID } from 'node:crypto';
import type { IncomingMessage, Server } from 'node:http';
import { type FastifyBaseLogger, type FastifyHttpOptions, LogController } from 'fastify';
import type { Config } from '../config.ts';
import { MAX_BODY_BYTES } from './bodies.ts';
import { clientErrorHandler } from './client-errors.ts';
import { escapeMalformedPath } from './percent-encoding.ts';
import type { TimeLimits } from './time-limits.ts';

/** Returns the options of the Fastify server. */
export function serverOptions(
  config: Pick<Config, 'trustProxy' | 'corsOrigins'>,
  log: FastifyBaseLogger,
  timeLimits: TimeLimits,
) {
  return {
    loggerInstance: log,
    // `logRequests` writes one line per request instead.
    logController: new LogController({ disableRequestLogging: true }),
    // Ignores request ids from clients, because they need not be unique.
    genReqId: () => randomUUID(),
    rewriteUrl: (request: IncomingMessage) => {
      // Removes the scheme and host of a target in absolute form, so that no response contains a host that the client
      // has chosen.
      const url = request.url?.replace(/^https?:\/\/[^/?#]*\/?/i, '/') ?? '/';
      return escapeMalformedPath(request, url);
    },
    bodyLimit: MAX_BODY_BYTES,
    trustProxy: config.trustProxy.length > 0 ? config.trustProxy : false,
    // Tags can be long. 16,384 bytes is also Node's limit for the request line and headers together.
    routerOptions: { maxParamLength: 16_384 },
    requestTimeout: timeLimits.requestTimeoutMs,
    connectionTimeout: timeLimits.inactivityTimeoutMs,
    // During the drain period, requests still get normal responses.
    return503OnClosing: false,
    http: {
      headersTimeout: timeLimits.headersTimeoutMs,
      connectionsCheckingInterval: timeLimits.connectionCheckIntervalMs,
      // `rejectAmbiguousHeaders` checks the Host header and responds with a problem document.
      requireHostHeader: false,
    },
    clientErrorHandler: clientErrorHandler(config, log),
  } satisfies FastifyHttpOptions<Server, FastifyBaseLogger>;
}
