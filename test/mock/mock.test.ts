import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const startMock = (...args: string[]) => spawn(process.execPath, ['mock/serve.ts', ...args]);

/** Listens on a free port. Close `owner` to release it. */
async function acquirePort() {
  const owner = createServer().listen(0, '127.0.0.1');
  await once(owner, 'listening');
  return { owner, port: String((owner.address() as AddressInfo).port) };
}

describe('the mock', () => {
  let mock: ChildProcess;
  let url: string;
  beforeAll(async () => {
    const { owner, port } = await acquirePort();
    owner.close();
    await once(owner, 'close');
    mock = startMock('--port', port);
    url = `http://127.0.0.1:${port}`;
    // It prints its address when it is ready.
    await once(mock.stdout as Readable, 'data');
  }, 45_000);
  afterAll(async () => {
    mock.kill('SIGTERM');
    await once(mock, 'exit');
  });

  const request = async (path: string, init?: RequestInit) => {
    const headers = { authorization: 'Bearer any', ...init?.headers };
    const response = await fetch(url + path, { ...init, headers });
    const next = /<(.*)>/.exec(response.headers.get('link') ?? '')?.[1];
    return { status: response.status, next, body: await response.json() };
  };

  test.each([
    '/api/spaces/search?q=tea&limit=5',
    '/api/spaces/tag/a%2Fb',
    '/api/participations',
    '/api/messages?space_id=any',
  ])('serves two pages of %s', async (path) => {
    const first = await request(path);
    expect(first.status).toBe(200);
    const { pathname, searchParams } = new URL(first.next ?? '', url);
    const requested = new URL(path, url);
    expect(pathname).toBe(requested.pathname);
    for (const [name, value] of requested.searchParams) expect(searchParams.get(name)).toBe(value);
    const second = await request(first.next as string);
    expect(second).toMatchObject({ status: 200, next: undefined });
  });

  test('lists the errors of an invalid request instead of the errors in the example', async () => {
    const { status, body } = await request('/api/auth/register', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"username":"a"}',
    });
    expect(status).toBe(400);
    expect(body.errors).toEqual([
      { pointer: '/email', message: 'is missing' },
      { pointer: '/password', message: 'is missing' },
      { pointer: '/username', message: expect.stringContaining('must') },
    ]);
    const search = await request('/api/spaces/search?limit=0');
    expect(search.body.errors.map((error: { pointer: string }) => error.pointer).sort()).toEqual([
      '?limit',
      '?q',
    ]);
  });

  test('serves avatars', async () => {
    const { body } = await request('/api/profile/me');
    const avatar = await fetch(body.profile_picture);
    expect(avatar.headers.get('content-type')).toBe('image/webp');
    expect((await avatar.arrayBuffer()).byteLength).toBeGreaterThan(1_000);
  });

  test('returns the status requested with Prefer', async () => {
    expect((await request('/api/profile/me', { headers: { prefer: 'code=503' } })).status).toBe(
      503,
    );
  });
});

test('prints one line and exits if the port is in use', async () => {
  const { owner, port } = await acquirePort();
  const child = startMock('--port', port);
  const [[code], errors, output] = await Promise.all([
    once(child, 'exit'),
    text(child.stderr),
    text(child.stdout),
  ]);
  expect({ code, output }).toEqual({ code: 1, output: '' });
  expect(errors).toMatch(/^listen EADDRINUSE.*\n$/);
  owner.close();
});

test.each([[['--prot', '1']], [['--port', 'abc']]])('rejects the arguments %j', async (args) => {
  const child = startMock(...args);
  const [[code], errors] = await Promise.all([once(child, 'exit'), text(child.stderr)]);
  expect(code).toBe(1);
  expect(errors).toMatch(/^Usage: .*\n$/);
});
