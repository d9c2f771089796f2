import { once } from 'node:events';
import Fastify from 'fastify';
import { expect, test } from 'vitest';
import { sendJsonParts } from '../../server/http/json-parts.ts';

test('stops reading the parts if the client disconnects', async () => {
  let isOver = false;
  const readParts = async function* () {
    try {
      for (;;) yield ' '.repeat(65_536);
    } finally {
      isOver = true;
    }
  };
  await using app = Fastify();
  app.get('/', (_, reply) => sendJsonParts(reply, readParts()));
  const { body } = await fetch(await app.listen());
  await body?.cancel();
  await expect.poll(() => isOver).toBe(true);
});

test('stops reading the parts if the client disconnects before the response is sent', async () => {
  const reading = Promise.withResolvers<void>();
  let isOver = false;
  const readParts = async function* (disconnected: Promise<unknown>) {
    try {
      reading.resolve();
      await disconnected;
      for (;;) yield ' '.repeat(65_536);
    } finally {
      isOver = true;
    }
  };
  await using app = Fastify();
  app.get('/', (_, reply) => sendJsonParts(reply, readParts(once(reply.raw, 'close'))));
  const client = new AbortController();
  const response = fetch(await app.listen(), { signal: client.signal });
  await reading.promise;
  client.abort();
  await expect(response).rejects.toThrow('aborted');
  await expect.poll(() => isOver).toBe(true);
});
