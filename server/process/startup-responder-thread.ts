import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { workerData } from 'node:worker_threads';
import { problemDocument, unavailable } from '../http/problems.ts';
import type { Address } from './startup-responder.ts';

const server = createServer((request, response) => {
  const isHealth = request.url === '/healthz';
  const { code, message } = unavailable();
  const body = isHealth ? { status: 'ok' } : problemDocument(code, message, randomUUID());
  const type = isHealth ? 'application/json' : 'application/problem+json';
  response
    .writeHead(isHealth ? 200 : 503, {
      ...{ 'content-type': type, 'cache-control': 'no-store', connection: 'close' },
      ...(!isHealth && { 'retry-after': '2' }),
    })
    .end(JSON.stringify(body));
});
// If the port is taken, the service itself is going to say so.
server.on('error', () => server.close());
server.listen(workerData as Address);
