import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import Fastify from 'fastify';
import { expect, test } from 'vitest';
import { limitPipelining } from '../../server/http/pipelining.ts';
import { openRaw } from '../support/raw.ts';

test('Processes the requests of a connection one after the other', async () => {
  const app = Fastify({ forceCloseConnections: true });
  limitPipelining(app);
  let processing = 0;
  let maxProcessing = 0;
  app.get('/:number', async ({ params }) => {
    processing += 1;
    maxProcessing = Math.max(maxProcessing, processing);
    await sleep(20);
    processing -= 1;
    return (params as { number: string }).number;
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  using connection = await openRaw(url);
  const numbers = ['1', '2', '3'];
  await connection.write(
    numbers.map((number) => `GET /${number} HTTP/1.1\r\nHost: a\r\n\r\n`).join(''),
  );
  for (const number of numbers) expect((await connection.readResponse())?.body).toBe(number);
  expect(maxProcessing).toBe(1);
  await app.close();
});

test('Does not process the waiting requests of a connection that has closed', async () => {
  const app = Fastify({ forceCloseConnections: true });
  limitPipelining(app);
  const begun: string[] = [];
  app.get('/:number', async ({ params, socket }) => {
    begun.push((params as { number: string }).number);
    await once(socket, 'close');
    return 'too late';
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const connection = await openRaw(url);
  const requests = ['1', '2', '3'].map((number) => `GET /${number} HTTP/1.1\r\nHost: a\r\n\r\n`);
  await connection.write(requests.join(''));
  await expect.poll(() => begun).toEqual(['1']);
  connection[Symbol.dispose]();
  await sleep(200);
  expect(begun).toEqual(['1']);
  await app.close();
});
