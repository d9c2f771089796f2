import { setTimeout as sleep } from 'node:timers/promises';
import Fastify from 'fastify';
import { expect, test } from 'vitest';
import type { Caller } from '../../server/auth/sessions.ts';
import { takeTurns } from '../../server/http/turns.ts';

/** Starts a server whose responses to `/` wait for `release`. The header `account` names the caller. */
async function startServer() {
  const app = Fastify({ forceCloseConnections: true });
  const running: { account: string; release: () => void }[] = [];
  app.decorateRequest('caller', null);
  app.addHook('onRequest', async (request) => {
    request.caller = { userId: String(request.headers.account) } as Caller;
  });
  app.addHook('onRequest', takeTurns());
  app.get('/', async (request) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    running.push({ account: String(request.headers.account), release: resolve });
    await promise;
    return 'done';
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  return {
    running: () => running.map(({ account }) => account),
    release: (index: number) => running[index]?.release(),
    read: (account: string, signal?: AbortSignal) =>
      fetch(url, { headers: { account }, signal: signal ?? null }).then(
        (response) => response.text(),
        () => 'aborted',
      ),
    [Symbol.asyncDispose]: () => app.close(),
  };
}

test('An account runs two reads at a time, without delaying those of others', async () => {
  await using server = await startServer();
  const reads = Array.from({ length: 4 }, () => server.read('ann'));
  await expect.poll(server.running).toEqual(['ann', 'ann']);
  const other = server.read('bob');
  await expect.poll(server.running).toEqual(['ann', 'ann', 'bob']);
  await sleep(50);
  expect(server.running()).toEqual(['ann', 'ann', 'bob']);
  server.release(0);
  await expect.poll(server.running).toEqual(['ann', 'ann', 'bob', 'ann']);
  for (const index of [1, 2, 3]) server.release(index);
  await expect.poll(() => server.running().length).toBe(5);
  server.release(4);
  expect(await Promise.all([...reads, other])).toEqual(Array(5).fill('done'));
});

test('A read whose client disconnects gives its turn to the next one', async () => {
  await using server = await startServer();
  const [running, waiting] = [new AbortController(), new AbortController()];
  const aborted = [server.read('ann', running.signal)];
  await expect.poll(server.running).toHaveLength(1);
  const second = server.read('ann');
  await expect.poll(server.running).toHaveLength(2);
  aborted.push(server.read('ann', waiting.signal));
  await sleep(50);
  const last = server.read('ann');
  waiting.abort();
  await sleep(50);
  expect(server.running()).toHaveLength(2);
  running.abort();
  await expect.poll(server.running).toHaveLength(3);
  for (const index of [1, 2]) server.release(index);
  expect(await Promise.all([second, last])).toEqual(['done', 'done']);
  expect(await Promise.all(aborted)).toEqual(['aborted', 'aborted']);
});
