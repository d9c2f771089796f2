import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { workerData } from 'node:worker_threads';
import { corsHeaders, preflightHeaders } from '../http/cors-headers.ts';
import { problemDocument, RETRY_AFTER_SECONDS, unavailable } from '../http/problems.ts';
import type { StartupConfig } from './startup-responder.ts';
import { keepWatchdogQuiet } from './watchdog.ts';

/** How often the thread tries to listen on a port in use. */
const LISTEN_RETRY_INTERVAL_MS = 100;

const { host, port, corsOrigins, watchdogMs, reusePort } = workerData as Required<StartupConfig>;
keepWatchdogQuiet({ watchdogMs });

const server = createServer((request, response) => {
  // So that clients reconnect, and reach the service itself once it listens.
  response.setHeader('connection', 'close');
  // Without CORS headers, browsers would report a network error to pages of other origins.
  if (request.method === 'OPTIONS') {
    response.writeHead(204, preflightHeaders(corsOrigins, request.headers)).end();
    return;
  }
  const requestId = randomUUID();
  response.setHeader('x-request-id', requestId);
  const cors = corsHeaders(corsOrigins, request.headers.origin);
  for (const [name, value] of Object.entries(cors)) response.setHeader(name, value);
  response.setHeader('cache-control', 'no-store');
  if (request.url === '/healthz') {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ status: 'ok' }));
    return;
  }
  const { code, message } = unavailable();
  response.writeHead(503, {
    'content-type': 'application/problem+json',
    'retry-after': String(RETRY_AFTER_SECONDS),
  });
  response.end(JSON.stringify(problemDocument(code, message, requestId)));
});
const listen = () => server.listen({ host, port, reusePort });
// An earlier server may still drain. If the port stays in use, the service itself reports the error when it listens.
server.on('error', () => setTimeout(listen, LISTEN_RETRY_INTERVAL_MS));
listen();
