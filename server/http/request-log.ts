import type { FastifyInstance } from 'fastify';

/** Logs one line for each response. */
export function logRequests(app: FastifyInstance): void {
  app.addHook('onResponse', async (request, reply) => {
    const { method, originalUrl: url, ip } = request;
    const { statusCode: status, elapsedTime } = reply;
    const milliseconds = Math.round(elapsedTime * 10) / 10;
    request.log.info({ method, url, ip, status, milliseconds }, 'request answered');
  });
}
