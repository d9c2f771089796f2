import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import Fastify from 'fastify';
import { expect, test } from 'vitest';
import { limitUnsentResponses } from '../../server/http/unsent-responses.ts';

const MEBIBYTE = 1024 * 1024;

/** More than the buffers of two sockets hold. */
const LARGE_BYTES = 32 * MEBIBYTE;

/** Starts a server with a limit of 100 MiB. */
async function startServer() {
  const app = Fastify({ forceCloseConnections: true });
  limitUnsentResponses(app, 100 * MEBIBYTE);
  app.get('/large', async () => Buffer.alloc(LARGE_BYTES, 'x'));
  app.get('/failing', async () => Buffer.alloc(LARGE_BYTES, 'x'));
  let notifyRequest = () => {};
  app.addHook('onSend', async ({ url }, { statusCode }) => {
    if (statusCode !== 200) return;
    notifyRequest();
    if (url === '/failing') throw new Error('Too late');
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const port = Number(new URL(url).port);
  const request = async (path: string, localAddress = '127.0.0.2'): Promise<Socket> => {
    const socket = connect({ port, host: '127.0.0.1', localAddress });
    socket.on('error', () => {}).pause();
    await once(socket, 'connect');
    // The requests of a test are answered in order, and before any response is read.
    const answered = new Promise<void>((resolve) => {
      notifyRequest = resolve;
    });
    socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
    await answered;
    return socket;
  };
  /** Returns whether each response arrives completely. */
  const areComplete = (sockets: Socket[]) =>
    Promise.all(
      sockets.map(async (socket) => {
        const received = await text(socket).catch(() => '');
        return received.length > LARGE_BYTES;
      }),
    );
  return { url, request, areComplete, [Symbol.asyncDispose]: () => app.close() };
}

test('Closes the connections that wait longest, of the client with the most unsent bytes', async () => {
  await using server = await startServer();
  const sockets = [
    await server.request('/large', '127.0.0.3'),
    await server.request('/large'),
    await server.request('/large'),
    await server.request('/large'),
    await server.request('/large', '127.0.0.4'),
  ];
  // Five responses exceed the limit, three do not.
  expect(await server.areComplete(sockets)).toEqual([true, false, false, true, true]);
});

test('Forgets responses that clients have received', async () => {
  await using server = await startServer();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const receive = async () => {
    const request = get(`${server.url}/large`, { agent });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    const { length } = await buffer(response);
    return { length, isReused: request.reusedSocket };
  };
  expect(await receive()).toEqual({ length: LARGE_BYTES, isReused: false });
  for (let i = 0; i < 3; i += 1) {
    expect(await receive()).toEqual({ length: LARGE_BYTES, isReused: true });
  }
  agent.destroy();
});

test('Forgets responses that an error replaces', async () => {
  await using server = await startServer();
  for (let i = 0; i < 3; i += 1) (await server.request('/failing')).destroy();
  const sockets = [];
  for (let i = 0; i < 3; i += 1) sockets.push(await server.request('/large'));
  expect(await server.areComplete(sockets)).toEqual([true, true, true]);
});

/** Starts a server with a limit of 2 MiB, and returns a function that sends a request from an address. */
async function startProxiedServer(length?: number) {
  const app = Fastify({ forceCloseConnections: true, trustProxy: true });
  limitUnsentResponses(app, 2 * MEBIBYTE);
  // Sends a byte and never ends.
  app.get('/stalled', async (_, reply) => {
    if (length !== undefined) reply.header('content-length', length);
    return Readable.from(
      (async function* () {
        yield ' ';
        await new Promise(() => {});
      })(),
    );
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const open: IncomingMessage[] = [];
  const request = async (ip: string) => {
    const sent = get(`${url}/stalled`, { headers: { 'x-forwarded-for': ip }, agent: false });
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.on('error', () => {}).resume();
    open.push(response);
    return response;
  };
  return {
    request,
    async [Symbol.asyncDispose]() {
      for (const response of open) response.destroy();
      await app.close();
    },
  };
}

test('Counts a stream of known length by its length', async () => {
  await using server = await startProxiedServer(1_000);
  const responses = [];
  for (let i = 0; i < 20; i += 1) responses.push(await server.request(`192.0.2.${i}`));
  expect(responses.filter(({ destroyed }) => destroyed)).toEqual([]);
});

test('Closes connections of the /48 block with the most unsent bytes', async () => {
  await using server = await startProxiedServer();
  const user = [await server.request('192.0.2.1'), await server.request('192.0.2.1')];
  // Each in a /64 block of its own.
  const others: IncomingMessage[] = [];
  for (let i = 0; i < 6; i += 1) others.push(await server.request(`2001:db8:1:${i}::1`));
  await expect.poll(() => others.filter(({ destroyed }) => destroyed).length).toBe(4);
  expect(user.filter(({ destroyed }) => destroyed)).toEqual([]);
});
