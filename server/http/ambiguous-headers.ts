import type { FastifyInstance } from 'fastify';
import { HttpProblem } from './problems.ts';

/** Rejects headers that a proxy and this server could interpret differently (request smuggling). */
export function rejectAmbiguousHeaders(app: FastifyInstance): void {
  app.addHook('onRequest', async ({ raw }) => {
    const names = raw.rawHeaders.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase());
    const count = (name: string) => names.filter((each) => each === name).length;
    const hosts = count('host');
    // HTTP/1.0 does not require a Host header.
    if (hosts > 1 || (hosts === 0 && raw.httpVersion !== '1.0')) {
      throw new HttpProblem('invalid_request', 'A request must have exactly one Host header.');
    }
    // Node.js uses the first one. A proxy that checks tokens may use another.
    if (count('authorization') > 1) {
      throw new HttpProblem(
        'invalid_request',
        'A request must have at most one Authorization header.',
      );
    }
    if (!/^(chunked)?$/i.test(raw.headers['transfer-encoding'] ?? '')) {
      throw new HttpProblem('invalid_request', 'The only supported transfer encoding is chunked.');
    }
  });
}
