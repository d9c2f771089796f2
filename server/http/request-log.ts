import type { FastifyInstance } from 'fastify';

/** Longer URLs are truncated. Otherwise, unknown paths could fill the log with their 16 KB. */
const MAX_URL_LENGTH = 500;

/** A trusted proxy may pass on an X-Forwarded-For of any length. */
const MAX_ADDRESS_LENGTH = 100;

/** Logs one line for each request, after its response or when its connection closes. Responses have its id. */
export function logRequests(app: FastifyInstance): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id);
    // The address is unknown after the connection has closed.
    const { method } = request;
    const url = request.originalUrl.slice(0, MAX_URL_LENGTH);
    const ip = request.ip.slice(0, MAX_ADDRESS_LENGTH);
    reply.raw.once('close', () => {
      const { statusCode: status, elapsedTime } = reply;
      const milliseconds = Math.round(elapsedTime * 10) / 10;
      if (reply.raw.writableFinished) {
        request.log.info({ method, url, ip, status, milliseconds }, 'request answered');
      } else {
        request.log.info(
          { method, url, ip, milliseconds },
          'connection closed before the response ended',
        );
      }
    });
  });
}
