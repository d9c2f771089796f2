import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';

/**
 * Longer texts are streamed, with a buffer of this size. The check counts UTF-16 code units, which is exact for ASCII.
 */
const BUFFER_BYTES = 65_536;

/**
 * Sends a JSON text whose parts are read while it is sent. If reading fails after the response has begun, the
 * connection is closed, so that the client does not mistake the beginning for the whole.
 * @throws the error of reading the first parts
 */
export async function sendJsonParts(
  reply: FastifyReply,
  parts: AsyncGenerator<string>,
): Promise<FastifyReply> {
  reply.type('application/json').code(200);
  let text = '';
  while (text.length < BUFFER_BYTES) {
    const { done, value } = await parts.next();
    if (done) return reply.send(text);
    text += value;
  }
  if (reply.request.method === 'HEAD') {
    // Fastify would read the stream to its end, although it sends nothing of it.
    await parts.return(undefined);
    return reply.send(Readable.from([]));
  }
  const stream = Readable.from(concatenate(text, parts), {
    objectMode: false,
    highWaterMark: BUFFER_BYTES,
  });
  // If the client disconnects early, `concatenate` has not reached `parts`. A `finally` in it would not run, either,
  // because returning from a generator that has not started skips its body.
  stream.once('close', () => parts.return(undefined).catch(() => {}));
  return reply.send(stream);
}

async function* concatenate(first: string, others: AsyncGenerator<string>): AsyncGenerator<string> {
  yield first;
  yield* others;
}
