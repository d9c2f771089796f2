import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { HttpProblem } from './problems.ts';

/** Maximum number of unanswered requests on a connection. Browsers and proxies send one at a time. */
const MAX_PIPELINED_REQUESTS = 16;

/** Closes connections with too many pipelined requests, because unsent responses are kept in memory. */
export function limitPipelining(app: FastifyInstance): void {
  const pendingRequests = new WeakMap<Socket, number>();
  app.addHook('onRequest', async ({ raw: { socket } }, reply) => {
    const pending = (pendingRequests.get(socket) ?? 0) + 1;
    pendingRequests.set(socket, pending);
    reply.raw.once('close', () => {
      pendingRequests.set(socket, (pendingRequests.get(socket) ?? 0) - 1);
    });
    if (pending <= MAX_PIPELINED_REQUESTS) return;
    socket.destroy();
    throw new HttpProblem(
      'invalid_request',
      `The connection has more than ${MAX_PIPELINED_REQUESTS} unanswered requests.`,
    );
  });
}
