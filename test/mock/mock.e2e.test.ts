import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { getResponse } from 'msw';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { parse } from 'yaml';
import { handlers } from '../../client/msw.ts';
import { operations } from '../../server/contract.ts';
import { validatedFetch } from '../support/contract.ts';
import { freePort, occupyPort } from '../support/ports.ts';
import { preload, type RunningProcess, startProcess } from '../support/processes.ts';
import { head, openRaw } from '../support/raw.ts';
import { exampleRequest, inputNamesOf } from '../support/requests.ts';

const start = (...args: string[]) => startProcess(process.execPath, ['mock/serve.ts', ...args]);

const stop = (mock: RunningProcess) => {
  mock.child.kill('SIGTERM');
  return mock.exited;
};

describe('The mock server', () => {
  let mock: RunningProcess;
  let url: string;
  beforeAll(async () => {
    const port = await freePort();
    mock = start('--port', String(port));
    url = `http://127.0.0.1:${port}`;
    await vi.waitFor(() => expect(mock.stdout()).toContain(url), { timeout: 40_000 });
  });
  afterAll(() => mock.kill());

  const request = async (path: string, init?: RequestInit) => {
    const headers = { authorization: 'Bearer any', ...init?.headers };
    const response = await fetch(url + path, { ...init, headers });
    const next = /<(.*)>/.exec(response.headers.get('link') ?? '')?.[1];
    return { status: response.status, next, body: await response.json() };
  };

  const lists = operations.filter((operation) => inputNamesOf(operation).includes('limit'));
  test.each(lists.map((operation) => exampleRequest(operation).url))(
    'serves two pages of %s, with different items',
    async (path) => {
      const first = await request(path);
      expect(first.status).toBe(200);
      const [, cursor = ''] = /[?&]cursor=([\w-]+)/.exec(first.next ?? '') ?? [];
      const second = await request(`${path}${path.includes('?') ? '&' : '?'}cursor=${cursor}`);
      expect(second).toMatchObject({ status: 200, next: undefined });

      const isArray = Array.isArray(first.body);
      expect(first.body.next_cursor).toBe(isArray ? undefined : cursor);
      expect(second.body.next_cursor).toBe(isArray ? undefined : null);
      const keys = [first, second].flatMap(({ body }) => (isArray ? body : body.items).map(keyOf));
      expect(keys.length).toBeGreaterThan(1);
      expect(new Set(keys).size).toBe(keys.length);
    },
  );

  /** Returns the id of an item, as a list of components has it as a key. */
  const keyOf = (item: Record<string, object>): unknown => {
    const [[name, id] = []] = Object.entries(item);
    return name === 'space' || name === 'user' ? keyOf(id as Record<string, object>) : id;
  };

  test('ignores a cursor if the operation is not a list', async () => {
    expect((await request('/api/profile/me?cursor=any')).status).toBe(200);
  });

  test('returns the same examples as the handlers for Mock Service Worker', async () => {
    for (const operation of operations) {
      const { url: example, init } = exampleRequest(operation);
      // The handlers have a last page, so that infinite lists end.
      const path = example.replace(/(?<=[?&])cursor=[^&]*/, '');
      const { status, body } = await request(path, init);
      const handled = await getResponse(handlers, new Request(url + path, init));
      expect(status).toBe(handled?.status);
      const handledBody = JSON.stringify(await handled?.json());
      expect(body).toEqual(JSON.parse(handledBody.replaceAll('http://127.0.0.1:3000', url)));
    }
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
    const inBody = { in: 'body', name: null };
    expect(body.errors).toEqual([
      { pointer: '/email', code: 'missing', message: 'is missing', ...inBody },
      { pointer: '/password', code: 'missing', message: 'is missing', ...inBody },
      {
        pointer: '/username',
        code: 'too_short',
        message: expect.stringContaining('must'),
        ...inBody,
      },
    ]);
    const unknownField = await request('/api/profile/bio', {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: '{"bio":"","a/b~c":1}',
    });
    expect(unknownField.body.errors).toEqual([
      {
        pointer: '/a~1b~0c',
        code: 'unknown_field',
        message: 'is not a known field',
        ...inBody,
      },
    ]);
    const search = await request('/api/spaces/search?limit=0');
    expect(search.body.errors.map((error: { name: string }) => error.name).sort()).toEqual([
      'limit',
      'q',
    ]);
  });

  test('rejects headers that are too large with a problem document', async () => {
    const response = await fetch(`${url}/api/tags`, {
      headers: { 'x-padding': 'x'.repeat(16_400) },
    });
    expect(response.status).toBe(431);
    expect(await response.json()).toMatchObject({ status: 431, code: 'headers_too_large' });
  });

  test('serves avatars', async () => {
    const { body } = await request('/api/profile/me');
    const avatar = await fetch(body.profile_picture);
    expect(avatar.headers.get('content-type')).toBe('image/webp');
    expect((await avatar.arrayBuffer()).byteLength).toBeGreaterThan(1_000);
  });

  test('serves the contract with its own URL, at the address that it prints', async () => {
    expect(mock.stdout()).toContain(`${url}/openapi.yaml`);
    const contract = await fetch(`${url}/openapi.yaml`);
    expect(contract.headers.get('content-type')).toBe('application/yaml');
    expect(parse(await contract.text()).servers).toEqual([{ url }]);
    const { body } = await request('/openapi.json');
    expect(body.servers).toEqual([{ url }]);
  });

  test.each([
    ['code=503', 503, 'unavailable'],
    ['Code="503" , respond-async', 503, 'unavailable'],
    ['code=409, example=email_taken', 409, 'email_taken'],
    ['code=409, example=username_taken', 409, 'username_taken'],
    ['code=201', 201, undefined],
    ['code=503, code=201', 503, 'unavailable'],
  ])('returns the example selected by Prefer: %s', async (prefer, status, code) => {
    const init = { method: 'POST', headers: { prefer }, body: 'any' };
    const response = await request('/api/auth/register', init);
    expect([response.status, response.body.code]).toEqual([status, code]);
  });

  test.each(operations.map((operation) => [operation.operationId, operation] as const))(
    'returns every documented response of %s on request',
    async (_, operation) => {
      const { url: path, init } = exampleRequest(operation);
      for (const [status, { content = {} }] of Object.entries(operation.responses)) {
        for (const [type, { examples = { only: {} } }] of Object.entries(content)) {
          for (const name of Object.keys(examples)) {
            const example = name === 'only' ? '' : `, example=${name}`;
            const headers = { ...init.headers, prefer: `code=${status}${example}` };
            const response = await validatedFetch(url + path, { ...init, headers });
            expect(response.status).toBe(Number(status));
            expect(response.headers.get('content-type')).toBe(type);
          }
        }
      }
    },
  );

  test.each([['code=418'], ['code=409, example=phone']])(
    'rejects Prefer: %s with a reason',
    async (prefer) => {
      const init = { method: 'POST', headers: { prefer } };
      const { status, body } = await request('/api/auth/register', init);
      expect(status).toBe(400);
      expect(body.detail).toBe(`The operation has no response with ${prefer}.`);
    },
  );

  test('waits as long as Prefer: delay-ms requests, without delaying other requests', async () => {
    const timed = async (prefer: string) => {
      const startedAt = performance.now();
      const { status } = await request('/api/profile/me', { headers: { prefer } });
      return { status, ms: performance.now() - startedAt };
    };
    const [slow, fast] = await Promise.all([timed('delay-ms=2000, code=503'), timed('')]);
    expect(slow.status).toBe(503);
    expect(slow.ms).toBeGreaterThan(1_990);
    expect(fast.status).toBe(200);
    expect(fast.ms).toBeLessThan(1_500);
  });

  test('returns the Retry-After that Prefer requests, and no remaining requests with it', async () => {
    const prefer = 'code=429, retry-after=2';
    const headers = { authorization: 'Bearer any', prefer };
    const response = await fetch(`${url}/api/profile/me`, { headers });
    expect(response.status).toBe(429);
    expect(response.headers.get('retry-after')).toBe('2');
    expect(response.headers.get('ratelimit-remaining')).toBe('0');
    expect(response.headers.get('ratelimit-reset')).toBe('2');
    expect(response.headers.has('ratelimit-policy')).toBe(false);
    const init = { method: 'PUT', headers, body: '{"bio":"Hello"}' };
    const { status, headers: quota } = await fetch(`${url}/api/profile/bio`, init);
    expect([status, quota.get('ratelimit-policy')]).toEqual([429, '200;w=3600']);
  });

  test('returns an HTML page with the status that Prefer requests', async () => {
    for (const status of [200, 502]) {
      const headers = { prefer: `html=${status}` };
      const response = await fetch(`${url}/api/profile/me`, { headers });
      expect(response.status).toBe(status);
      expect(response.headers.get('content-type')).toMatch(/^text\/html/);
    }
  });

  test('reads an upload of 5 MiB in linear time', async () => {
    const upload = async (bytes: number) => {
      const body = new FormData();
      const file = Buffer.alloc(bytes, '\x89PNG\r\n\x1a\n', 'latin1');
      body.set('avatar', new Blob([file]), 'avatar.png');
      const startedAt = performance.now();
      const { status } = await request('/api/profile/picture', { method: 'PUT', body });
      expect(status).toBe(200);
      return performance.now() - startedAt;
    };
    await upload(1_000);
    const times = [await upload(5_242_880), await upload(5_242_880), await upload(5_242_880)];
    // Quadratic time would be several seconds. On a busy machine, a single upload can be slow, too.
    expect(Math.min(...times)).toBeLessThan(2_000);
  });

  test('prints nothing about a client that disconnects during an upload', async () => {
    using connection = await openRaw(url);
    const headers = {
      Authorization: 'Bearer any',
      'Content-Type': 'application/json',
      'Content-Length': 100,
    };
    await connection.write(head('PUT', '/api/profile/bio', headers));
    await connection.write('{');
    await sleep(100);
    connection.socket.destroy();
    await sleep(100);
    const { status } = await request('/api/profile/me');
    expect(status).toBe(200);
    expect(mock.output()).toBe(mock.stdout());
  });

  const setNext = async (operation: string, prefer: string, others = {}) => {
    const init = { method: 'POST', headers: { prefer, ...others } };
    const response = await fetch(`${url}/__next/${operation}`, init);
    const text = await response.text();
    return { status: response.status, detail: text && JSON.parse(text).detail };
  };
  const statusOfProfile = async () => (await request('/api/profile/me')).status;

  test('applies preferences to the next requests of one operation, in their order', async () => {
    await setNext('getProfile', 'code=503');
    expect(await setNext('getProfile', 'code=429, delay-ms=300')).toEqual({
      status: 204,
      detail: '',
    });
    expect((await request('/api/spaces')).status).toBe(200);
    expect(await statusOfProfile()).toBe(503);
    const startedAt = performance.now();
    expect(await statusOfProfile()).toBe(429);
    expect(performance.now() - startedAt).toBeGreaterThan(290);
    expect(await statusOfProfile()).toBe(200);
  });

  test('applies preferences to the next request of one caller', async () => {
    const ada = { authorization: 'Bearer ada' };
    await setNext('getProfile', 'code=503', ada);
    expect(await statusOfProfile()).toBe(200);
    expect((await request('/api/profile/me', { headers: ada })).status).toBe(503);
    expect((await request('/api/profile/me', { headers: ada })).status).toBe(200);
  });

  test('forgets the preferences for next requests on POST /__reset', async () => {
    await setNext('getProfile', 'code=503');
    expect((await fetch(`${url}/__reset`, { method: 'POST' })).status).toBe(204);
    expect(await statusOfProfile()).toBe(200);
  });

  test.each([
    ['getProfile', 'code=418', 400, 'The operation has no response with code=418.'],
    [
      'register',
      'code=409, example=phone',
      400,
      'The operation has no response with code=409, example=phone.',
    ],
    [
      'getProfile',
      'status=503',
      400,
      'The header Prefer must contain code=STATUS, html=STATUS, disconnect=before, disconnect=after or delay-ms=MILLISECONDS.',
    ],
    ['unknown', 'code=503', 404, 'The path does not exist.'],
  ])(
    'rejects the next response of %s with Prefer: %s',
    async (operation, prefer, status, detail) => {
      expect(await setNext(operation, prefer)).toEqual({ status, detail });
      expect(await statusOfProfile()).toBe(200);
    },
  );
});

describe('With --stateful, the mock server', () => {
  let mock: RunningProcess;
  let url: string;
  beforeAll(async () => {
    const port = await freePort();
    mock = start('--stateful', '--port', String(port));
    url = `http://127.0.0.1:${port}`;
    await vi.waitFor(() => expect(mock.stdout()).toContain(url), { timeout: 40_000 });
  });
  // SIGKILL would leave its data behind.
  afterAll(() => stop(mock));

  const signIn = async (): Promise<Record<string, string>> => {
    const response = await fetch(`${url}/api/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'ada@example.com', password: 'correct horse battery' }),
    });
    expect(response.status).toBe(200);
    return { authorization: `Bearer ${(await response.json()).access_token}` };
  };
  const statusOf = async (method: string, path: string, headers: Record<string, string> = {}) => {
    const response = await fetch(url + path, { method, headers });
    await response.arrayBuffer();
    return response.status;
  };

  test('returns the mail that it has sent, with a token that works', async () => {
    const json = { 'content-type': 'application/json' };
    const send = (method: string, path: string, body: object) =>
      fetch(url + path, { method, headers: json, body: JSON.stringify(body) });
    const path = '/api/auth/password-resets';
    expect((await send('POST', path, { email: 'person2@example.com' })).status).toBe(202);
    const readMails = async () => (await fetch(`${url}/__mails`)).json();
    await expect.poll(readMails).toMatchObject([{ to: 'person2@example.com' }]);
    const [{ text }] = await readMails();
    const [, token] = /token=(\S+)/.exec(text) ?? [];
    const newPassword = 'staple of the north wind';
    expect((await send('PUT', path, { token, newPassword })).status).toBe(200);
    expect((await send('PUT', path, { token, newPassword })).status).toBe(400);
    expect((await fetch(`${url}/__reset`, { method: 'POST' })).status).toBe(204);
    expect(await readMails()).toEqual([]);
  });

  test('keeps changes until POST /__reset', async () => {
    const headers = await signIn();
    expect(await statusOf('DELETE', '/api/profile/account', headers)).toBe(200);
    expect(await statusOf('GET', '/api/profile/me', headers)).toBe(401);
    expect(await statusOf('POST', '/__reset')).toBe(204);
    expect(await statusOf('GET', '/api/profile/me', headers)).toBe(401);
    expect(await statusOf('GET', '/api/profile/me', await signIn())).toBe(200);
  });

  test('responds to other requests and to another reset during a reset', async () => {
    let isDone = false;
    const resets = Promise.all([statusOf('POST', '/__reset'), statusOf('POST', '/__reset')]);
    const finished = resets.finally(() => {
      isDone = true;
    });
    const statuses = new Set<number>();
    while (!isDone) statuses.add(await statusOf('GET', '/api/spaces/search?q=bread'));
    expect(await finished).toEqual([204, 204]);
    expect([...statuses]).toEqual([200]);
    await signIn();
  });

  test('prints the address of the API reference', async () => {
    const [reference = ''] = /\S+\/docs(?=\.)/.exec(mock.stdout()) ?? [];
    expect((await fetch(reference)).status).toBe(200);
  });

  test('serves avatars at its own address', async () => {
    const response = await fetch(`${url}/api/profile/me`, { headers: await signIn() });
    const { profile_picture } = await response.json();
    expect(profile_picture).toBe(`${url}/avatars/default.webp`);
    expect((await fetch(profile_picture)).status).toBe(200);
  });

  test('returns the example selected by Prefer without executing the request', async () => {
    const headers = await signIn();
    const prefer = { ...headers, prefer: 'code=503' };
    expect(await statusOf('DELETE', '/api/profile/account', prefer)).toBe(503);
    expect(await statusOf('GET', '/api/profile/me', headers)).toBe(200);
  });

  test.each([
    ['before', 'Breads'],
    ['after', 'Cakes'],
  ] as const)('closes the connection %s the work', async (moment, title) => {
    const headers = await signIn();
    const created = fetch(`${url}/api/spaces`, {
      method: 'POST',
      headers: {
        ...headers,
        'content-type': 'application/json',
        prefer: `disconnect=${moment}`,
      },
      body: JSON.stringify({ title, visibility: 'public', description: '', tags: [] }),
    });
    await expect(created).rejects.toThrow('fetch failed');
    const found = await fetch(`${url}/api/spaces/search?as_typed=true&q=${title}`);
    expect(await found.json()).toHaveLength(moment === 'after' ? 1 : 0);
  });

  test('returns the next response that a page of another origin has set', async () => {
    const headers = { origin: 'https://app.example', prefer: 'code=503' };
    const preflight = await fetch(`${url}/__next/sendMessage`, {
      method: 'OPTIONS',
      headers: {
        origin: headers.origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'prefer',
      },
    });
    expect(preflight.headers.get('access-control-allow-headers')).toBe('prefer');
    expect(await statusOf('POST', '/__next/listSpaces', headers)).toBe(204);
    expect(await statusOf('GET', '/api/spaces')).toBe(503);
    expect(await statusOf('GET', '/api/spaces')).toBe(200);
  });

  test('waits as long as Prefer: delay-ms requests', async () => {
    const startedAt = performance.now();
    const headers = { prefer: 'delay-ms=500' };
    expect(await statusOf('GET', '/api/spaces/search?q=bread', headers)).toBe(200);
    expect(performance.now() - startedAt).toBeGreaterThan(490);
  });

  test('does not limit the number of requests', async () => {
    const headers = await signIn();
    for (let i = 0; i < 25; i += 1) {
      const response = await fetch(`${url}/api/profile/username`, {
        method: 'PUT',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify({ username: 'ada' }),
      });
      expect(response.status).toBe(200);
    }
  });

  /** Follows new spaces. The responses are those of requests that wait for a message. */
  const followSpaces = async (headers: Record<string, string>, count: number) => {
    const spaceIds: string[] = [];
    const responses: Promise<Response>[] = [];
    for (let i = 0; i < count; i += 1) {
      const space = { title: `No. ${i}`, visibility: 'public', description: '', tags: [] };
      const { space_id } = await create('/api/spaces', space, headers);
      const list = `${url}/api/messages?space_id=${space_id}`;
      const { newer_cursor } = await (await fetch(list, { headers })).json();
      spaceIds.push(space_id);
      responses.push(fetch(`${list}&wait=25&after=${newer_cursor}`, { headers }));
    }
    return { spaceIds, responses };
  };
  const create = async (path: string, body: object, headers: Record<string, string>) => {
    const response = await fetch(url + path, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    expect(response.status).toBe(201);
    return response.json();
  };

  test('lets 45 requests of one account wait, and responds to each with its message', async () => {
    const headers = await signIn();
    const { spaceIds, responses } = await followSpaces(headers, 45);
    for (const space_id of spaceIds)
      await create('/api/messages', { space_id, text: 'Hi' }, headers);
    for (const [i, response] of (await Promise.all(responses)).entries()) {
      expect(response.status).toBe(200);
      expect((await response.json()).items).toMatchObject([{ space_id: spaceIds[i], text: 'Hi' }]);
    }
  });

  test('ends waiting requests with an empty page on POST /__reset, instead of waiting for them', async () => {
    const { responses } = await followSpaces(await signIn(), 1);
    // Less than the time that a reset has for pending requests.
    const later = statusOf('GET', '/api/tags', { prefer: 'delay-ms=4000' });
    expect(await Promise.race([statusOf('POST', '/__reset'), later])).toBe(204);
    for (const response of await Promise.all(responses)) {
      expect(await response.json()).toMatchObject({ items: [], is_complete: true });
    }
  });

  test('discards a delayed request whose client has disconnected', async () => {
    const headers = await signIn();
    const aborted = fetch(`${url}/api/profile/account`, {
      method: 'DELETE',
      headers: { ...headers, prefer: 'delay-ms=500' },
      signal: AbortSignal.timeout(100),
    });
    await expect(aborted).rejects.toThrow('timeout');
    await sleep(600);
    expect(await statusOf('GET', '/api/profile/me', headers)).toBe(200);
  });

  test.each([
    ['by two signals, as by Ctrl+C in a terminal', 'SIGINT'],
    ['by a closed terminal', 'SIGHUP'],
  ] as const)('deletes its data when it is stopped %s', async (_, signal) => {
    await using folders = new AsyncDisposableStack();
    const folder = folders.adopt(mkdtempSync(join(tmpdir(), 'mock-test-')), (name) =>
      rmSync(name, { recursive: true }),
    );
    // A second signal arrives before the data is deleted.
    const hook = `import { isMainThread } from 'node:worker_threads';
      if (isMainThread) process.on('exit', () => process.kill(process.pid, 'SIGINT'));`;
    await using other = startProcess(
      process.execPath,
      ['mock/serve.ts', '--stateful', '--port', '0'],
      { TMPDIR: folder, ...preload(hook) },
    );
    await expect.poll(other.stdout).toContain('http://');
    expect(readdirSync(folder)).toHaveLength(1);
    other.child.kill(signal);
    expect((await other.result).code).toBe(0);
    expect(readdirSync(folder)).toEqual([]);
  });
});

test('loads packages of the server only with --stateful', async () => {
  // Lists the packages that the repository's own modules import.
  const hook = `import { registerHooks } from 'node:module';
    registerHooks({ resolve(name, context, next) {
      if (!/^(node|file|data):|^[./]/.test(name) && !context.parentURL?.includes('node_modules'))
        console.log('package: ' + name);
      return next(name, context);
    } });`;
  const packagesOf = async (...args: string[]) => {
    const command = ['mock/serve.ts', '--port', '0', ...args];
    await using mock = startProcess(process.execPath, command, preload(hook));
    await expect.poll(mock.stdout).toContain('http://');
    await stop(mock);
    return new Set([...mock.stdout().matchAll(/^package: (.*)$/gm)].map(([, name]) => name));
  };
  expect([...(await packagesOf())].sort()).toEqual(['@stoplight/prism-http', 'pino']);
  expect(await packagesOf('--stateful')).toContain('fastify');
});

test('prints one line and exits if the port is in use', async () => {
  await using occupied = await occupyPort();
  await using mock = start('--port', String(occupied.port));
  expect(await mock.result).toEqual({
    code: 1,
    stdout: '',
    stderr: `Port ${occupied.port} of 127.0.0.1 is in use. Choose another with --port.\n`,
  });
});

test('prints one line and exits if it may not create its temporary folder', async () => {
  // As root, the tests can write to every folder.
  const hook = `import fs from 'node:fs';
    import { syncBuiltinESMExports } from 'node:module';
    fs.mkdtempSync = () => {
      const error = new Error("EACCES: permission denied, mkdtemp '/tmp/x'");
      throw Object.assign(error, { code: 'EACCES', syscall: 'mkdtemp' });
    };
    syncBuiltinESMExports();`;
  const command = ['mock/serve.ts', '--stateful', '--port', '0'];
  await using mock = startProcess(process.execPath, command, preload(hook));
  expect(await mock.result).toEqual({
    code: 1,
    stdout: '',
    stderr: "EACCES: permission denied, mkdtemp '/tmp/x'\n",
  });
});

test('prints one line and exits if the address does not exist', async () => {
  for (const host of ['192.0.2.1', 'no.such.host.invalid']) {
    await using mock = start('--host', host, '--port', '0');
    expect(await mock.result).toEqual({
      code: 1,
      stdout: '',
      stderr: `${host} is not an address of this machine. Choose another with --host, such as 127.0.0.1.\n`,
    });
  }
});

test('prints its options and headers with --help', async () => {
  await using mock = start('--help');
  const { code, stdout, stderr } = await mock.result;
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  for (const text of ['--stateful', '--port', 'Prefer: code=', 'disconnect=', '/__next/']) {
    expect(stdout).toContain(text);
  }
});

test.each([
  [['--prot', '1'], "Unknown option '--prot'"],
  [['--port', 'abc'], '--port abc is not a number from 0 to 65535.'],
  [['--port', '65536'], '--port 65536 is not a number from 0 to 65535.'],
  [['stateful'], "Unexpected argument 'stateful'"],
])('rejects the arguments %j with a reason and the usage', async (args, reason) => {
  await using mock = start(...args);
  const { code, stdout, stderr } = await mock.result;
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr.startsWith(reason)).toBe(true);
  expect(stderr).toContain('\nUsage: ');
});
