import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { freePort, occupyPort } from '../support/ports.ts';
import { type RunningProcess, startProcess } from '../support/processes.ts';

const start = (...args: string[]) => startProcess(process.execPath, ['mock/serve.ts', ...args]);

describe('The mock', () => {
  let mock: RunningProcess;
  let url: string;
  beforeAll(async () => {
    const port = await freePort();
    mock = start('--port', String(port));
    url = `http://127.0.0.1:${port}`;
    await vi.waitFor(() => expect(mock.output()).toContain(url), { timeout: 40_000 });
  }, 45_000);
  afterAll(() => mock.kill());

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
  ])('returns two pages of %s', async (path) => {
    const first = await ask(path);
    expect(first.status).toBe(200);
    const { pathname, searchParams } = new URL(first.next ?? '', url);
    const asked = new URL(path, url);
    expect(pathname).toBe(asked.pathname);
    for (const [name, value] of asked.searchParams) expect(searchParams.get(name)).toBe(value);
    const second = await ask(first.next as string);
    expect(second).toMatchObject({ status: 200, next: undefined });
  });

  test('reports what a request lacks', async () => {
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

  test('serves avatars', async () => {
    const { body } = await ask('/api/profile/me');
    const avatar = await fetch(body.profile_picture);
    expect(avatar.headers.get('content-type')).toBe('image/webp');
    expect((await avatar.arrayBuffer()).byteLength).toBeGreaterThan(1_000);
  });

  test('returns the status that Prefer asks for', async () => {
    expect((await ask('/api/profile/me', { headers: { prefer: 'code=503' } })).status).toBe(503);
  });
});

test('reports a port in use in one line', async () => {
  await using occupied = await occupyPort();
  await using mock = start('--port', String(occupied.port));
  const { code, output, errors } = await mock.ended;
  expect({ code, output }).toEqual({ code: 1, output: '' });
  expect(errors).toMatch(/^listen EADDRINUSE.*\n$/);
});

test.each([[['--prot', '1']], [['--port', 'abc']]])('prints its usage for %j', async (args) => {
  await using mock = start(...args);
  const { code, errors } = await mock.ended;
  expect(code).toBe(1);
  expect(errors).toMatch(/^Usage: .*\n$/);
});
