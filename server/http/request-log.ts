import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** Logs one line for each response. */
export function logRequests(app: FastifyInstance): void {
  app.addHook('onResponse', async (request, reply) => logRequest(request, reply));
}

/** Logs one line for a response. */
export function logRequest(request: FastifyRequest, reply: FastifyReply): void {
  const { method, url, ip } = request;
  const milliseconds = Math.round(reply.elapsedTime * 10) / 10;
  request.log.info({ method, url, ip, status: reply.statusCode, milliseconds }, 'request answered');
}
