import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';

/** Bytes that are read before the client has received earlier ones. */
const BUFFER_BYTES = 65_536;

/**
 * Sends parts of a JSON text as they become available. If reading one fails, the connection is closed, so that the client
 * does not mistake the beginning for the whole.
 */
export function sendJsonStream(reply: FastifyReply, parts: AsyncIterable<string>): FastifyReply {
  const stream = Readable.from(parts, { objectMode: false, highWaterMark: BUFFER_BYTES });
  return reply.type('application/json').code(200).send(stream);
}
