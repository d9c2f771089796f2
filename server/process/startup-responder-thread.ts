import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { workerData } from 'node:worker_threads';
import { problemDocument, RETRY_AFTER_SECONDS, unavailable } from '../http/problems.ts';
import type { Address } from './port.ts';

const server = createServer((request, response) => {
  response.setHeader('cache-control', 'no-store');
  // So that clients reconnect, and reach the service itself once it listens.
  response.setHeader('connection', 'close');
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
  response.end(JSON.stringify(problemDocument(code, message, randomUUID())));
});
// If the port is in use, the service itself reports the error when it listens.
server.on('error', () => server.close());
server.listen(workerData as Address);
