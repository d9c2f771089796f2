import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import Sqlite from 'better-sqlite3';
import { expect, test } from 'vitest';
import { createClient, createConfig } from '../../generated/client/index.ts';
import * as api from '../../generated/sdk.gen.ts';
import { startProgram } from '../support/commands.ts';
import { EX_CONFIG } from '../support/exit-codes.ts';
import { freePort, occupyPort } from '../support/ports.ts';
import { head, openRaw } from '../support/raw.ts';
import { startServer } from '../support/server.ts';

test('exits with EX_CONFIG and prints one line if the port of several workers is in use', async () => {
  await using occupied = await occupyPort();
  const env = { PORT: String(occupied.port), WORKERS: '2', LOG_LEVEL: 'warn' };
  await using supervisor = startProgram('start', [], env);
  const { code, stderr } = await supervisor.result;
  expect(code).toBe(EX_CONFIG);
  expect(stderr).toBe(
    `PORT=${occupied.port} is in use on 127.0.0.1. Set PORT to another number.\n`,
  );
});

test('exits with EX_CONFIG if its workers do, and prints their error', async () => {
  await using cleanup = new AsyncDisposableStack();
  const DATA_DIR = await mkdtemp(join(tmpdir(), 'stopping-'));
  cleanup.defer(() => rm(DATA_DIR, { recursive: true }));
  // Only workers open the counters of rate limits.
  await mkdir(join(DATA_DIR, 'limits.sqlite'));
  const env = { DATA_DIR, PORT: String(await freePort()), WORKERS: '2', LOG_LEVEL: 'silent' };
  const { code, stderr } = await cleanup.use(startProgram('start', [], env)).result;
  expect(stderr).toContain('limits.sqlite');
  expect(code).toBe(EX_CONFIG);
});

test.each(['1', '2'])(
  'reports not ready, finishes pending requests and exits on a signal, with WORKERS=%s',
  async (WORKERS) => {
    // While it drains, it still accepts the requests below.
    await using server = await startServer({ WORKERS, DRAIN_SECONDS: '3' });
    const { child, url, port } = server;
    // The last line of the request is still missing, so it is pending.
    const pending = connect(port, '127.0.0.1');
    pending.write('GET /healthz HTTP/1.1\r\nHost: a\r\n');
    await once(pending, 'connect');
    const response = text(pending);

    child.kill('SIGINT');
    child.kill('SIGINT');
    child.kill('SIGTERM');
    await expect.poll(async () => (await fetch(`${url}/readyz`)).status).toBe(503);
    const other = await fetch(`${url}/api/spaces/search?q=tea`);
    expect([other.status, other.headers.get('connection')]).toEqual([200, 'close']);
    child.kill('SIGTERM');
    pending.write('\r\n');
    expect(await server.stop()).toBe(0);
    expect(await response).toMatch(/^HTTP\/1\.1 200.*connection: close.*"ok"/is);
  },
);

test('exits with 0 after Ctrl+C while the workers are starting', async () => {
  await using cleanup = new AsyncDisposableStack();
  const DATA_DIR = await mkdtemp(join(tmpdir(), 'stopping-'));
  cleanup.defer(() => rm(DATA_DIR, { recursive: true }));
  const env = { DATA_DIR, PORT: String(await freePort()), WORKERS: '2', DRAIN_SECONDS: '0' };
  const supervisor = cleanup.use(startProgram('start', [], env));
  const pid = supervisor.child.pid as number;
  const countWorkers = () =>
    promisify(execFile)('pgrep', ['-P', String(pid)]).then(
      ({ stdout }) => stdout.trim().split('\n').length,
      () => 0,
    );
  await expect.poll(countWorkers, { interval: 10 }).toBe(2);
  // A terminal sends the signal to all processes of the group.
  process.kill(-pid, 'SIGINT');
  const { code, stdout } = await supervisor.result;
  expect(stdout).not.toContain('Server listening');
  expect(code).toBe(0);
});

test('exits on a signal although a client does not finish its request', async () => {
  await using server = await startServer();
  using connection = await openRaw(server.url);
  const headers = { 'Content-Type': 'application/json', 'Content-Length': 9 };
  await connection.write(`${head('POST', '/api/auth/login', headers)}{`);
  expect(await server.stop()).toBe(0);
});

test('stops waiting for a database that another program has locked, and sends 503 to pending requests', async () => {
  await using cleanup = new AsyncDisposableStack();
  const DATA_DIR = await mkdtemp(join(tmpdir(), 'stopping-'));
  cleanup.defer(() => rm(DATA_DIR, { recursive: true }));
  const settings = { DATA_DIR, DRAIN_SECONDS: '0' };
  const register = (url: string, username: string) =>
    api.register({
      client: createClient(createConfig({ baseUrl: url })),
      body: { username, email: `${username}@example.com`, password: 'correct horse battery' },
    });
  const first = cleanup.use(await startServer(settings));
  await register(first.url, 'ada');
  expect(await first.stop()).toBe(0);
  const program = new Sqlite(join(DATA_DIR, 'space-service.sqlite'));
  cleanup.defer(() => void program.close());
  // Work for maintenance and housekeeping. Each of them waits for the lock, too.
  program.exec('INSERT INTO erased_users SELECT pk FROM users');
  program.exec(
    "INSERT INTO discarded_avatars VALUES ('no-avatar.webp', '2000-01-01T00:00:00.000Z')",
  );
  program.exec('BEGIN IMMEDIATE');
  const server = cleanup.use(await startServer(settings));
  const pending = register(server.url, 'bob');
  await sleep(500);
  const startedAt = performance.now();
  expect(await server.stop()).toBe(0);
  // Without a stop request, each of them would wait for 30 seconds.
  expect(performance.now() - startedAt).toBeLessThan(20_000);
  expect((await pending).response?.status).toBe(503);
});
