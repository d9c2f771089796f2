import { setTimeout as sleep } from 'node:timers/promises';
import Fastify from 'fastify';
import { expect, test, vi } from 'vitest';
import type { Caller } from '../../server/auth/sessions.ts';
import { DomainError } from '../../server/errors.ts';
import { limitPerAccount } from '../../server/http/turns.ts';

/** Starts a server whose responses to `/` wait for `release`. The header `account` names the caller. */
async function startServer() {
  const app = Fastify({ forceCloseConnections: true });
  const running: { account: string; release: () => void }[] = [];
  const ended = new Set<string>();
  let [arrived, disconnected] = [0, 0];
  let authentication = Promise.resolve();
  app.decorateRequest('caller', null);
  app.addHook('onRequest', async (request, { raw }) => {
    arrived += 1;
    raw.once('close', () => {
      if (!raw.writableFinished) disconnected += 1;
    });
    await authentication;
    request.caller = { userId: String(request.headers.account) } as Caller;
  });
  app.setErrorHandler((error, _request, reply) =>
    reply.code(500).send(error instanceof DomainError ? error.code : String(error)),
  );
  const inTurn = limitPerAccount(async ({ userId }) => {
    if (ended.has(userId)) throw new DomainError('unauthenticated', 'The session has ended.');
  });
  app.get(
    '/',
    inTurn(async (request) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      running.push({ account: String(request.headers.account), release: resolve });
      await promise;
      return 'done';
    }),
  );
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  return {
    running: () => running.map(({ account }) => account),
    release: (...indexes: number[]) => indexes.forEach((index) => void running[index]?.release()),
    endSession: (account: string) => ended.add(account),
    arrived: () => arrived,
    disconnected: () => disconnected,
    /** Returns a function that ends the delay. */
    delayAuthentication: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      authentication = promise;
      return resolve;
    },
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
  server.release(1, 2, 3);
  await expect.poll(() => server.running().length).toBe(5);
  server.release(4);
  expect(await Promise.all([...reads, other])).toEqual(Array(5).fill('done'));
});

test('A read runs until its work is done, even if its client has disconnected', async () => {
  await using server = await startServer();
  const client = new AbortController();
  const aborted = [server.read('ann', client.signal), server.read('ann', client.signal)];
  await expect.poll(server.running).toHaveLength(2);
  client.abort();
  await Promise.all(aborted);
  await expect.poll(server.disconnected).toBe(2);
  const next = server.read('ann');
  await sleep(50);
  expect(server.running()).toHaveLength(2);
  server.release(0);
  await expect.poll(server.running).toHaveLength(3);
  server.release(1, 2);
  expect(await next).toBe('done');
});

test('A waiting read whose client disconnects does not run', async () => {
  await using server = await startServer();
  const reads = [server.read('ann'), server.read('ann')];
  await expect.poll(server.running).toHaveLength(2);
  const client = new AbortController();
  server.read('ann', client.signal);
  await expect.poll(server.arrived).toBe(3);
  const last = server.read('ann');
  client.abort();
  await expect.poll(server.disconnected).toBe(1);
  await expect.poll(server.arrived).toBe(4);
  server.release(0, 1);
  await expect.poll(server.running).toHaveLength(3);
  server.release(2);
  expect(await Promise.all([...reads, last])).toEqual(['done', 'done', 'done']);
  expect(server.running()).toHaveLength(3);
});

test('Clients that disconnect during authentication keep no turn', async () => {
  await using server = await startServer();
  const authenticate = server.delayAuthentication();
  const client = new AbortController();
  for (let i = 0; i < 3; i += 1) server.read('ann', client.signal);
  await expect.poll(server.arrived).toBe(3);
  client.abort();
  await expect.poll(server.disconnected).toBe(3);
  authenticate();
  await expect.poll(server.running).toHaveLength(2);
  server.release(0, 1);
  const read = server.read('ann');
  await expect.poll(server.running).toHaveLength(3);
  server.release(2);
  expect(await read).toBe('done');
});

test('A read that has waited for five seconds is rejected, and the next ones run', async () => {
  await using server = await startServer();
  const reads = [server.read('ann'), server.read('ann')];
  await expect.poll(server.running).toHaveLength(2);
  const startedAt = performance.now();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const late = server.read('ann');
    while (vi.getTimerCount() === 0) await new Promise(setImmediate);
    vi.advanceTimersByTime(5_000);
    expect(await late).toBe('unavailable');
  } finally {
    vi.useRealTimers();
  }
  expect(performance.now() - startedAt).toBeLessThan(5_000);
  const next = server.read('ann');
  await expect.poll(server.arrived).toBe(4);
  server.release(0, 1);
  await expect.poll(server.running).toHaveLength(3);
  server.release(2);
  expect(await Promise.all([...reads, next])).toEqual(['done', 'done', 'done']);
});

test('A read whose session ends while it waits is rejected', async () => {
  await using server = await startServer();
  const reads = [server.read('ann'), server.read('ann')];
  await expect.poll(server.running).toHaveLength(2);
  const waiting = server.read('ann');
  await expect.poll(server.arrived).toBe(3);
  server.endSession('ann');
  server.release(0, 1);
  expect(await Promise.all([...reads, waiting])).toEqual(['done', 'done', 'unauthenticated']);
  expect(server.running()).toHaveLength(2);
});
