import { once } from 'node:events';
import { connect, type Server } from 'node:net';
import Fastify from 'fastify';
import { expect, test } from 'vitest';
import { rememberAccount } from '../../server/http/authentication.ts';
import { takeTurns } from '../../server/http/turns.ts';

/** Blocks the event loop, like a query of SQLite. */
function work(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}

interface Request {
  address: string;
  account?: string;
}

/**
 * Sends requests, each on a connection of its own, so that the server receives all of them at once. Returns them in the
 * order in which they ran.
 */
async function sendTogether(requests: readonly Request[], milliseconds: number) {
  const handled: Request[] = [];
  const app = Fastify({ forceCloseConnections: true, trustProxy: true });
  takeTurns(app, { corsOrigins: '*' });
  app.get('/:index', async (request) => {
    const { index } = request.params as { index: number };
    const { account } = requests[index] as Request;
    if (account) rememberAccount(account, account);
    handled.push(requests[index] as Request);
    work(milliseconds);
    return 'done';
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  try {
    const { port } = app.server.address() as { port: number };
    const sockets = requests.map(() => connect(port, '127.0.0.1'));
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    // The server accepts the connections later than their clients are connected.
    await expect.poll(() => countConnections(app.server)).toBe(requests.length);
    const responses = sockets.map(async (socket) => String((await once(socket, 'data'))[0]));
    for (const [index, { address, account }] of requests.entries()) {
      const token = account ? `authorization: Bearer ${account}\r\n` : '';
      sockets[index]?.write(
        `GET /${index} HTTP/1.1\r\nhost: a\r\nx-forwarded-for: ${address}\r\n${token}\r\n`,
      );
    }
    const statuses = (await Promise.all(responses)).map((text) => text.slice(9, 12));
    return { handled, statuses };
  } finally {
    await app.close();
  }
}

function countConnections(server: Server): Promise<number> {
  return new Promise((resolve, reject) =>
    server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  );
}

test.each(['192.0.2.7', '2001:db8:7:7::1'])(
  'Requests of %s that arrive together run after those of others',
  async (address) => {
    const other = { address: '198.51.100.1' };
    const { handled } = await sendTogether([...Array(20).fill({ address }), other], 2);
    expect(handled).toHaveLength(21);
    expect(handled.slice(0, 4)).toContainEqual(other);
  },
);

test('Requests of an account run after those of others with the same address', async () => {
  const address = '192.0.2.8';
  const [ann, bob] = [
    { address, account: 'ann' },
    { address, account: 'bob' },
  ];
  // The server knows the accounts of tokens that it has verified.
  await sendTogether([ann, bob], 0);
  const { handled } = await sendTogether([...Array(20).fill(ann), bob], 2);
  expect(handled.slice(0, 4)).toContainEqual(bob);
});

test('Requests that have waited for two seconds are rejected, those of others are not', async () => {
  const greedy = Array(12).fill({ address: '192.0.2.9' });
  const others = ['198.51.100.2', '198.51.100.3'].map((address) => ({ address }));
  const { statuses } = await sendTogether([...greedy, ...others], 300);
  expect(statuses.slice(-2)).toEqual(['200', '200']);
  expect(statuses.filter((status) => status !== '200').length).toBeGreaterThan(3);
});
