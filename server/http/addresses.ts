import type { FastifyInstance } from 'fastify';

/**
 * Reads the address of a client when it connects. Node.js then remembers it, otherwise requests of clients that have
 * disconnected meanwhile would have no address in the log and in the keys of rate limits.
 */
export function rememberAddresses({ server }: Pick<FastifyInstance, 'server'>): void {
  server.on('connection', (socket) => {
    // The client has already disconnected.
    if (socket.remoteAddress === undefined) socket.destroy();
  });
}
