import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

export const MAX_DRAINED_BYTES = 16 * 1024 * 1024;
const DRAIN_TIMEOUT_MS = 30_000;

/** Connections on which the rest of an answered request is still arriving. */
const draining = new WeakSet<Socket>();

/** Limits the number of bytes that the server reads of a request after it has responded. */
export function drainUnreadBodies(app: FastifyInstance): void {
  app.addHook('onSend', async ({ raw }, reply) => {
    // Otherwise, Node.js would read the rest without any limit.
    if (!raw.complete) drain(raw);
    // Fastify closes the connection after it rejects a body. The client could then lose the response.
    reply.removeHeader('connection');
  });
}

/**
 * Discards the rest of a request, and closes the connection if it exceeds the limits.
 *
 * If the rest stayed unread, the client would stall and the server could not close. If the connection were closed at
 * once, the client could lose the response.
 */
export function drain(
  raw: IncomingMessage,
  maxBytes = MAX_DRAINED_BYTES,
  timeoutMs = DRAIN_TIMEOUT_MS,
): void {
  const { socket } = raw;
  if (raw.readableEnded || raw.destroyed || draining.has(socket)) return;
  draining.add(socket);
  let remainingBytes = maxBytes;
  const deadline = setTimeout(() => raw.destroy(), timeoutMs).unref();
  for (const event of ['end', 'close']) {
    raw.once(event, () => {
      draining.delete(socket);
      clearTimeout(deadline);
    });
  }
  raw.unpipe();
  raw.on('data', (chunk: Buffer) => {
    remainingBytes -= chunk.length;
    if (remainingBytes < 0) raw.destroy();
  });
  raw.resume();
}

export function isDraining(socket: Socket): boolean {
  return draining.has(socket);
}
