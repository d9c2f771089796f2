import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { preload } from '../support/processes.ts';
import { startServer } from '../support/server.ts';

const ON_SIGNALS = preload(`
  process.on('SIGUSR2', () => process.emitWarning('a planted warning'));
  process.on('SIGWINCH', () => { throw new Error('a planted error'); });`);

test('logs warnings of Node.js and the error that ends the process as JSON, and nothing else', async () => {
  await using server = await startServer(ON_SIGNALS);
  server.child.kill('SIGUSR2');
  await expect.poll(server.output).toContain('a planted warning');
  server.child.kill('SIGWINCH');
  const [code] = await once(server.child, 'close');
  expect(code).toBe(1);
  const lines = server
    .unexpectedOutput()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines).toMatchObject([
    { level: 40, msg: 'a planted warning' },
    { level: 60, err: { message: 'a planted error' } },
  ]);
});

test('warns once before its file descriptors are used up', async () => {
  const limited = ['sh', '-c', 'ulimit -n 120; exec "$@"', 'sh'];
  await using server = await startServer({}, limited);
  const connections = Array.from({ length: 100 }, () => connect(server.port, '127.0.0.1'));
  for (const connection of connections) connection.on('error', () => {});
  await expect.poll(server.output).toContain('"limit":120');
  for (const connection of connections) connection.destroy();
  expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
  expect(server.output().split('nearly all file descriptors are in use')).toHaveLength(2);
});
