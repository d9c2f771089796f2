import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { networkKey } from './client-key.ts';

/** Maximum total size of the unsent responses of this process. */
export const MAX_UNSENT_BYTES = 64 * 1024 * 1024;

/** Maximum memory of a streamed response: the chunk that is being sent and the next one. */
const MAX_STREAM_BYTES = 512 * 1024;

/** The unsent responses of a network. */
interface UnsentResponses {
  bytes: number;
  /** Size in bytes of each response, oldest first. */
  responses: Map<ServerResponse, number>;
}

/**
 * Closes connections while unsent responses use too much memory, because clients can request more than they read.
 * Selects the network with the most unsent bytes, and closes the connection of its oldest unsent response.
 */
export function limitUnsentResponses(app: FastifyInstance, maxBytes = MAX_UNSENT_BYTES): void {
  const networks = new Map<string, UnsentResponses>();
  let totalBytes = 0;

  const remove = (key: string, unsent: UnsentResponses, response: ServerResponse) => {
    const bytes = unsent.responses.get(response);
    if (bytes === undefined) return;
    unsent.responses.delete(response);
    unsent.bytes -= bytes;
    totalBytes -= bytes;
    if (unsent.responses.size === 0) networks.delete(key);
  };

  const closeOldest = () => {
    const [key, unsent] = [...networks].reduce((a, b) => (b[1].bytes > a[1].bytes ? b : a));
    const [response] = unsent.responses.keys();
    if (!response) throw new Error('A network without unsent responses was not removed.');
    remove(key, unsent, response);
    response.req.socket.destroy();
  };

  app.addHook('onSend', async (request, reply, payload) => {
    const { raw: response } = reply;
    // The client has disconnected, and there will be no `close` event.
    if (response.closed) return;
    const key = networkKey(request);
    const unsent = networks.get(key) ?? { bytes: 0, responses: new Map() };
    // If a later hook fails, an error response replaces this one.
    const replaced = unsent.responses.get(response);
    if (replaced === undefined) response.once('close', () => remove(key, unsent, response));
    const bytes = sizeOf(payload, Number(reply.getHeader('content-length') ?? Infinity));
    networks.set(key, unsent);
    unsent.responses.set(response, bytes);
    unsent.bytes += bytes - (replaced ?? 0);
    totalBytes += bytes - (replaced ?? 0);
    while (totalBytes > maxBytes) closeOldest();
  });
}

/** @param length the length of a stream, if it is known */
function sizeOf(payload: unknown, length: number): number {
  if (typeof payload === 'string') return Buffer.byteLength(payload);
  if (payload instanceof Uint8Array) return payload.byteLength;
  return payload instanceof Readable ? Math.min(length, MAX_STREAM_BYTES) : 0;
}
