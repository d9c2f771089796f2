import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { register } from '../support/client.ts';
import { type Server, startServer } from '../support/server.ts';
import { createSpace, sendMessage } from '../support/spaces.ts';

/**
 * A page of the longest messages has 800 kB, so one response of each connection makes 80 MB, and the limit is 64 MiB.
 * With more connections, some requests would be rejected because too many of this sender wait.
 */
const CONNECTIONS = 100;
const MIN_CLOSED = 10;
const REQUESTS_PER_CONNECTION = 16;
const MESSAGES_PER_PAGE = 100;

/** Creates a space with a page of the longest messages. Returns the path and query of the page. */
async function fillPage({ url }: Server): Promise<string> {
  const author = await register(url, 'ada');
  const space = await createSpace(author);
  for (let i = 0; i < MESSAGES_PER_PAGE; i += 1) {
    await sendMessage(author, space, '🍵'.repeat(2_000));
  }
  return `/api/messages?space_id=${space.space_id}&limit=${MESSAGES_PER_PAGE}`;
}

/** Sends requests from a local address without reading the responses. */
function sendWithoutReading({ port }: Server, localAddress: string, path: string): Socket {
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  // The server may reset the connection.
  socket.on('error', () => {}).pause();
  socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(REQUESTS_PER_CONNECTION));
  return socket;
}

test('The client with the most unsent bytes loses connections, but other slow clients lose none', async () => {
  await using server = await startServer();
  const path = await fillPage(server);
  const patient = sendWithoutReading(server, '127.0.0.3', path);
  const sockets = Array.from({ length: CONNECTIONS }, () =>
    sendWithoutReading(server, '127.0.0.2', path),
  );
  let closed = 0;
  for (const socket of sockets) socket.once('close', () => (closed += 1));
  const lengths = new Set<number>();
  for (const deadline = performance.now() + 60_000; performance.now() < deadline; ) {
    lengths.add((await (await fetch(server.url + path)).arrayBuffer()).byteLength);
    if (closed >= MIN_CLOSED) break;
    await sleep(100);
    // A socket that is not read notices only when it writes that the connection is closed.
    for (const socket of sockets) socket.write('\r\n');
  }
  expect(closed).toBeGreaterThanOrEqual(MIN_CLOSED);
  expect(lengths.size).toBe(1);
  expect(server.unexpectedOutput()).toBe('');

  let received = 0;
  patient.on('data', (bytes) => (received += bytes.length)).resume();
  const expected = REQUESTS_PER_CONNECTION * Math.max(...lengths);
  await expect.poll(() => received).toBeGreaterThan(expected);
  for (const socket of [patient, ...sockets]) socket.destroy();
  expect(await server.stop()).toBe(0);
});
