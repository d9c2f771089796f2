import { once } from 'node:events';
import { connect, type Server } from 'node:net';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { expect, test } from 'vitest';
import type { Caller } from '../../server/auth/sessions.ts';
import { limitPerIteration } from '../../server/http/iterations.ts';

/**
 * Sends requests of these accounts, each on a connection of its own, so that the server receives all of them in one
 * iteration of the event loop. Null is a client without a token. Returns the accounts in the order of the responses.
 */
async function sendTogether(accounts: readonly (string | null)[]): Promise<(string | null)[]> {
  const handled: (string | null)[] = [];
  const app = Fastify({ forceCloseConnections: true });
  app.decorateRequest('caller', null);
  app.addHook('onRequest', async (request) => {
    const { account } = request.headers;
    if (account) request.caller = { userId: String(account) } as Caller;
  });
  app.addHook('onRequest', limitPerIteration());
  app.get('/', async ({ caller }) => {
    handled.push(caller?.userId ?? null);
    return 'done';
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  try {
    const { port } = app.server.address() as { port: number };
    const sockets = accounts.map(() => connect(port, '127.0.0.1'));
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    // The server accepts the connections later than their clients are connected.
    await expect.poll(() => countConnections(app.server)).toBe(accounts.length);
    for (const [index, account] of accounts.entries()) {
      const header = account === null ? '' : `account: ${account}\r\n`;
      sockets[index]?.write(`GET / HTTP/1.1\r\nhost: localhost\r\n${header}\r\n`);
    }
    await Promise.all(sockets.map((socket) => once(socket, 'data')));
    return handled;
  } finally {
    await app.close();
  }
}

function countConnections(server: Server): Promise<number> {
  return new Promise((resolve, reject) =>
    server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  );
}

test.each([
  { name: 'an account', sender: 'ann' },
  { name: 'a client without a token', sender: null },
])('Requests of $name that arrive together run after those of others', async ({ sender }) => {
  const handled = await sendTogether([...Array(20).fill(sender), 'bob']);
  expect(handled).toHaveLength(21);
  expect(handled.slice(0, 5)).toContain('bob');
});

/** Returns a function that calls the hook for a request of an account, and resolves when the request begins. */
function openHook() {
  const hook = limitPerIteration();
  return (userId: string, { isAborted = false, wait = '' } = {}): Promise<unknown> => {
    const config = { operation: { operationId: wait ? 'listMessages' : 'getProfile' } };
    const query = wait ? { wait } : {};
    const request = { caller: { userId }, routeOptions: { config }, query };
    const reply = { raw: { closed: isAborted } } as FastifyReply;
    return hook.call({} as FastifyInstance, request as unknown as FastifyRequest, reply);
  };
}

test('Of many requests that arrive together, some are rejected, but none that may wait for messages', async () => {
  const begin = openHook();
  const accepted = Array.from({ length: 102 }, () => begin('ann'));
  const rejected = expect(begin('ann')).rejects.toMatchObject({ code: 'unavailable' });
  await Promise.all([...accepted, rejected, begin('ann', { wait: '25' }), begin('bob')]);
  await begin('ann');
});

test('Requests whose clients disconnect while they wait do not begin', async () => {
  const begin = openHook();
  const begun = [begin('ann'), begin('ann')];
  const aborted = expect(begin('ann', { isAborted: true })).rejects.toMatchObject({
    code: 'unavailable',
  });
  await Promise.all([...begun, aborted, begin('ann')]);
});
