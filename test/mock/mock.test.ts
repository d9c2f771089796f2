import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { operations } from '../../server/contract.ts';
import { freePort, occupyPort } from '../support/ports.ts';
import { type RunningProcess, startProcess } from '../support/processes.ts';
import { exampleRequest, inputNamesOf } from '../support/requests.ts';

const start = (...args: string[]) => startProcess(process.execPath, ['mock/serve.ts', ...args]);

describe('The mock server', () => {
  let mock: RunningProcess;
  let url: string;
  beforeAll(async () => {
    const port = await freePort();
    mock = start('--port', String(port));
    url = `http://127.0.0.1:${port}`;
    await vi.waitFor(() => expect(mock.stdout()).toContain(url), { timeout: 40_000 });
  }, 45_000);
  afterAll(() => mock.kill());

  const request = async (path: string, init?: RequestInit) => {
    const headers = { authorization: 'Bearer any', ...init?.headers };
    const response = await fetch(url + path, { ...init, headers });
    const next = /<(.*)>/.exec(response.headers.get('link') ?? '')?.[1];
    return { status: response.status, next, body: await response.json() };
  };

  const lists = operations.filter((operation) => inputNamesOf(operation).includes('limit'));
  test.each([
    ...lists.map((operation) => exampleRequest(operation).url),
    '/api/spaces/search?q=tea&limit=5',
    '/api/spaces/tag/a%2Fb',
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

  test('returns Answered-Query unless as_typed is true', async () => {
    const answeredQueryTo = async (path: string) =>
      (await fetch(url + path)).headers.get('answered-query');
    expect(await answeredQueryTo('/api/spaces/search?q=tea')).toBe('sourdough%20bread');
    expect(await answeredQueryTo('/api/spaces/search?q=tea&as_typed=false')).not.toBeNull();
    expect(await answeredQueryTo('/api/spaces/search?q=tea&as_typed=true')).toBeNull();
  });

  test('lists the actual errors of an invalid request, not those of the example', async () => {
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

  test('returns the status requested in the Prefer header', async () => {
    const { status } = await request('/api/profile/me', { headers: { prefer: 'code=503' } });
    expect(status).toBe(503);
  });
});

test('prints one line and exits if the port is in use', async () => {
  await using occupied = await occupyPort();
  await using mock = start('--port', String(occupied.port));
  const { code, stdout, stderr } = await mock.result;
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^listen EADDRINUSE.*\n$/);
});

test.each([[['--prot', '1']], [['--port', 'abc']]])('rejects the arguments %j', async (args) => {
  await using mock = start(...args);
  const { code, stderr } = await mock.result;
  expect(code).toBe(1);
  expect(stderr).toMatch(/^Usage: .*\n$/);
});
