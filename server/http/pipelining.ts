import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { HttpProblem } from './problems.ts';

/** Maximum number of unanswered requests on a connection. Browsers and proxies send one at a time. */
const MAX_PIPELINED_REQUESTS = 16;

/** The requests of a connection. */
interface Pipeline {
  unanswered: number;
  /** Settles when the latest request has been answered. */
  answered: Promise<void>;
}

/**
 * Processes the requests of a connection one after the other, because Node.js keeps the response to a pipelined request
 * in memory until all responses before it have been sent. Closes connections with too many unanswered requests.
 */
export function limitPipelining(app: FastifyInstance): void {
  const pipelines = new WeakMap<Socket, Pipeline>();
  app.addHook('onRequest', async ({ raw: { socket } }, reply) => {
    const pipeline = pipelines.get(socket) ?? { unanswered: 0, answered: Promise.resolve() };
    pipelines.set(socket, pipeline);
    const { answered: previousAnswered } = pipeline;
    pipeline.unanswered += 1;
    pipeline.answered = new Promise((resolve) => {
      reply.raw.once('close', () => {
        pipeline.unanswered -= 1;
        // Otherwise, the connection has been closed, and the waiting requests must not be processed.
        if (reply.raw.writableFinished) resolve();
      });
    });
    if (pipeline.unanswered > MAX_PIPELINED_REQUESTS) {
      socket.destroy();
      throw new HttpProblem(
        'invalid_request',
        `The connection has more than ${MAX_PIPELINED_REQUESTS} unanswered requests.`,
      );
    }
    // Never settles if the connection is closed first.
    await previousAnswered;
  });
}
