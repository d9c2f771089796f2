import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const start = (...args: string[]) => spawn(process.execPath, ['mock/serve.ts', ...args]);

async function takePort() {
  const owner = createServer().listen(0, '127.0.0.1');
  await once(owner, 'listening');
  return { owner, port: String((owner.address() as AddressInfo).port) };
}

describe('The mock', () => {
  let mock: ChildProcess;
  let url: string;
  beforeAll(async () => {
    const { owner, port } = await takePort();
    owner.close();
    await once(owner, 'close');
    mock = start('--port', port);
    url = `http://127.0.0.1:${port}`;
    // It greets once it answers.
    await once(mock.stdout as Readable, 'data');
  }, 45_000);
  afterAll(async () => {
    mock.kill('SIGTERM');
    await once(mock, 'exit');
  });

  const ask = async (path: string, init?: RequestInit) => {
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
  ])('has two pages of %s', async (path) => {
    const first = await ask(path);
    expect(first.status).toBe(200);
    const { pathname, searchParams } = new URL(first.next ?? '', url);
    const asked = new URL(path, url);
    expect(pathname).toBe(asked.pathname);
    for (const [name, value] of asked.searchParams) expect(searchParams.get(name)).toBe(value);
    const second = await ask(first.next as string);
    expect(second).toMatchObject({ status: 200, next: undefined });
  });

  test('says what a request lacks, and not what the example says', async () => {
    const { status, body } = await ask('/api/auth/register', {
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
    const search = await ask('/api/spaces/search?limit=0');
    expect(search.body.errors.map((each: { pointer: string }) => each.pointer).sort()).toEqual([
      '?limit',
      '?q',
    ]);
  });

  test('shows avatars', async () => {
    const { body } = await ask('/api/profile/me');
    const avatar = await fetch(body.profile_picture);
    expect(avatar.headers.get('content-type')).toBe('image/webp');
    expect((await avatar.arrayBuffer()).byteLength).toBeGreaterThan(1_000);
  });

  test('gives any answer that is wished for', async () => {
    expect((await ask('/api/profile/me', { headers: { prefer: 'code=503' } })).status).toBe(503);
  });
});

test('A mock on a port that is in use says so in a line, and nothing else', async () => {
  const { owner, port } = await takePort();
  const child = start('--port', port);
  const [[code], errors, output] = await Promise.all([
    once(child, 'exit'),
    text(child.stderr),
    text(child.stdout),
  ]);
  expect({ code, output }).toEqual({ code: 1, output: '' });
  expect(errors).toMatch(/^listen EADDRINUSE.*\n$/);
  owner.close();
});

test.each([[['--prot', '1']], [['--port', 'abc']]])('A mock with %j is told how', async (args) => {
  const child = start(...args);
  const [[code], errors] = await Promise.all([once(child, 'exit'), text(child.stderr)]);
  expect(code).toBe(1);
  expect(errors).toMatch(/^Usage: .*\n$/);
});
