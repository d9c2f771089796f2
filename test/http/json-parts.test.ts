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
