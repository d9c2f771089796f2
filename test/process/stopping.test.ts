import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'stopping-'));
});
afterAll(() => rm(folder, { recursive: true }));

function start(settings: Record<string, string>): ChildProcess {
  return spawn(process.execPath, ['server/main.ts'], {
    env: { PATH: process.env.PATH, DATA_DIR: folder, LOG_LEVEL: 'warn', ...settings },
  });
}

/** Listens on a free port. */
async function occupyPort() {
  const owner = createServer().listen(0, '127.0.0.1');
  await once(owner, 'listening');
  return { owner, port: (owner.address() as AddressInfo).port };
}

async function startOnFreePort(settings: Record<string, string>) {
  const { owner, port } = await occupyPort();
  await new Promise((resolve) => owner.close(resolve));
  const child = start({ PORT: String(port), ...settings });
  const url = `http://127.0.0.1:${port}`;
  const isReady = () => fetch(`${url}/readyz`).then(({ ok }) => ok);
  await expect.poll(() => isReady().catch(() => false), { timeout: 30_000 }).toBe(true);
  return { child, url, port };
}

test('Exits with code 78 and one line if the port for several workers is in use', async () => {
  const { owner, port } = await occupyPort();
  const child = start({ PORT: String(port), WORKERS: '2' });
  const [[code], errors] = await Promise.all([
    once(child, 'exit'),
    text(child.stderr as NonNullable<typeof child.stderr>),
  ]);
  expect(code).toBe(78);
  expect(errors).toBe(`PORT=${port} is in use on 127.0.0.1. Set PORT to another number.\n`);
  owner.close();
}, 40_000);

describe.each(['1', '2'])('After a stop signal, with WORKERS=%s, the service', (workers) => {
  test('reports that it is not ready, finishes pending requests, and exits with code 0', async () => {
    const { child, url, port } = await startOnFreePort({ WORKERS: workers });
    const exited = once(child, 'exit');
    // A pending request.
    const open = connect(port, '127.0.0.1');
    open.setEncoding('utf8').write('GET /healthz HTTP/1.1\r\nHost: a\r\n');
    await once(open, 'connect');
    let response = '';
    open.on('data', (data: string) => {
      response += data;
    });

    child.kill('SIGINT');
    child.kill('SIGINT');
    child.kill('SIGTERM');
    await expect.poll(async () => (await fetch(`${url}/readyz`)).status).toBe(503);
    const other = await fetch(`${url}/api/spaces/search?q=tea`);
    expect([other.status, other.headers.get('connection')]).toEqual([200, 'close']);
    child.kill('SIGTERM');
    open.write('\r\n');
    expect((await exited)[0]).toBe(0);
    expect(response).toMatch(/^HTTP\/1\.1 200.*connection: close.*"ok"/is);
  }, 60_000);
});
