import { METHODS, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { operations } from '../../server/contract.ts';
import { startApp, type TestApp, type TestUser } from '../support/app.ts';
import { head, openRaw, type RawResponse, sendRaw, validateRaw } from '../support/raw.ts';
import { exampleRequest } from '../support/requests.ts';

const MEBIBYTE = 1024 * 1024;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

let app: TestApp;
let caller: TestUser;
const log: { reqId: string; status: number }[] = [];
beforeAll(async () => {
  const write = (line: string) => void log.push(JSON.parse(line));
  app = await startApp({ METRICS_TOKEN: 'sesame' }, { log: pino({ level: 'info' }, { write }) });
  caller = await app.register();
});
afterAll(() => app[Symbol.asyncDispose]());

/** Sends a request with a method that `fetch` does not support. */
function send(method: string, path: string, headers: Record<string, string> = {}) {
  return new Promise<RawResponse>((resolve, reject) => {
    request(app.url + path, { method, headers }, async (response) => {
      resolve({
        status: response.statusCode ?? 0,
        headers: new Headers(Object.entries(response.headers) as [string, string][]),
        body: await text(response),
      });
    })
      .on('error', reject)
      .end();
  });
}

function problemOf(response: RawResponse | undefined) {
  if (!response) throw new Error('There was no response.');
  const problem = JSON.parse(validateRaw('GET', `${app.url}/`, response).body);
  expect(problem.status).toBe(response.status);
  expect(problem.request_id).toMatch(UUID);
  expect(response.headers.get('cache-control')).toBe('no-store');
  return problem;
}

/** Waits for the log line of a request. */
async function expectLogged(id: string, line: object) {
  await expect.poll(() => log.find(({ reqId }) => reqId === id)).toMatchObject(line);
}

describe('Unsupported methods', () => {
  const paths = new Map(
    operations.map(({ path }) => [
      path.replace(/\{\w+\}/, 'some-id'),
      operations.filter((each) => each.path === path).map(({ method }) => method),
    ]),
  );
  for (const page of [
    'healthz',
    'readyz',
    'metrics',
    'openapi.yaml',
    'docs',
    'docs/',
    'docs/json',
  ]) {
    paths.set(`/${page}`, ['GET']);
  }
  paths.set('/docs/static/index.css', ['GET']);
  paths.set('/avatars/default.webp', ['GET']);

  test.each([...paths])(
    'are rejected with 405 at %s, without authentication',
    async (path, methods) => {
      const possible = methods.includes('GET') ? [...methods, 'HEAD'] : methods;
      for (const method of METHODS) {
        if ([...possible, 'OPTIONS', 'CONNECT'].includes(method)) continue;
        const response = await send(method, path, { 'content-type': 'application/json' });
        expect(response.status, method).toBe(405);
        expect(response.headers.get('allow')).toBe(possible.sort().join(', '));
        if (method === 'HEAD') continue;
        expect(problemOf(response)).toMatchObject({
          code: 'method_not_allowed',
          detail: `${method} is not allowed at this path. Allowed: ${possible.join(', ')}.`,
        });
      }
    },
  );

  test('never reach the operation of a more general path', async () => {
    for (const [method, path] of [
      ['DELETE', '/api/spaces/search'],
      ['PATCH', '/api/spaces/search'],
      ['PUT', '/api/profile/me'],
      ['DELETE', '/api/profile/username'],
    ] as const) {
      const response = await app.fetch(path, { method, headers: caller.headers, body: '{' });
      expect(response.status).toBe(405);
    }
    expect((await send('DELETE', '/api/spaces/se%61rch', caller.headers)).status).toBe(405);
  });

  test.each(['FOO', 'get', 'GE T', ''])(
    'are rejected with 400 if HTTP does not define them: %j',
    async (method) => {
      const response = await sendRaw(app.url, head(method, '/healthz'));
      expect(problemOf(response)).toMatchObject({ status: 400, code: 'invalid_request' });
    },
  );
});

describe('Unknown paths', () => {
  test.each([
    '/',
    '/api',
    '/api/',
    '/api/spaces/search/',
    '//api/spaces',
    '/API/spaces',
    '/api/spaces/some-id/x',
    '/api/profile',
    '/api/users',
    '/docs/x',
    '/metrics/',
    '/favicon.ico',
    '/openapi.json',
    '/avatars',
    '/.env',
    '/api/spaces/tag/a/b',
    '/*',
    '/__proto__',
  ])('are rejected with 404: %s', async (path) => {
    for (const method of ['GET', 'POST', 'DELETE']) {
      const response = await app.fetch(path, { method, headers: caller.headers });
      expect(await response.json()).toMatchObject({
        status: 404,
        code: 'not_found',
        detail: 'The path does not exist.',
      });
    }
    expect((await send('HEAD', path)).status).toBe(404);
    expect((await send('PROPFIND', path)).status).toBe(404);
  });

  test('are rejected with 404 for any request body', async () => {
    for (const type of ['application/json', 'text/plain', 'multipart/form-data', ';', 'x/y']) {
      const init = { method: 'POST', headers: { 'content-type': type }, body: '{'.padEnd(40_000) };
      expect((await app.fetch('/nowhere', init)).status).toBe(404);
    }
  });
});

describe('Malformed percent-encoding', () => {
  test.each(['%', '%2', '%zz', '%FF', '%E0%A4%A', '%C0%AF', '%ED%A0%80'])(
    'is rejected in a path and in a query: %s',
    async (text) => {
      for (const path of [`/api/spaces/tag/${text}`, `/api/users/${text}`, `/avatars/${text}`]) {
        expect(problemOf(await sendRaw(app.url, head('GET', path)))).toMatchObject({
          status: 400,
          code: 'invalid_request',
          detail: 'The path is not valid percent-encoded UTF-8.',
        });
      }
      for (const query of [`q=${text}`, `${text}=q&q=a`, `q=a&cursor=x${text}`]) {
        const response = await sendRaw(app.url, head('GET', `/api/spaces/search?${query}`));
        expect(problemOf(response)).toMatchObject({ status: 400, code: 'invalid_request' });
      }
    },
  );

  test('is logged like every request', async () => {
    const { request_id } = problemOf(await sendRaw(app.url, head('GET', '/%FF')));
    await expectLogged(request_id, { status: 400, url: '/%FF' });
  });

  test('is rejected with a response that pages of other origins can read', async () => {
    const headers = { origin: 'https://app.example' };
    const preflight = { ...headers, 'access-control-request-method': 'GET' };
    for (const path of ['/%FF', '/api/users/%FF', '/api/spaces/tag/%']) {
      const [malformed, unknown] = await Promise.all(
        [path, '/nowhere'].map((each) => app.fetch(each, { headers })),
      );
      expect(malformed?.status).toBe(400);
      expect(malformed?.headers.get('access-control-allow-origin')).toBe('*');
      const names = (response?: Response) => [...(response?.headers.keys() ?? [])].sort();
      expect(names(malformed)).toEqual(names(unknown));
      const { status } = await app.fetch(path, { method: 'OPTIONS', headers: preflight });
      expect(status).toBe(204);
    }
  });

  test.each(['POST', 'DELETE'])('is rejected before %s requests are processed', async (method) => {
    for (const path of ['/api/spaces/%FF', '/api/participations/%zz', '/%']) {
      const { status } = await send(method, path, caller.headers);
      expect(status).toBe(400);
    }
  });
});

describe('The server', () => {
  test.each([
    ['with two Host headers', 'GET /healthz HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n'],
    [
      'with two Host headers that are not adjacent',
      'GET /healthz HTTP/1.1\r\nHost: a\r\nX: y\r\nhOST: b\r\n\r\n',
    ],
    ['without a Host header', 'GET /healthz HTTP/1.1\r\n\r\n'],
    [
      'with two Authorization headers',
      'GET /healthz HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer a\r\nauthorization: Bearer b\r\n\r\n',
    ],
    [
      'with Content-Length and chunked encoding',
      head('POST', '/api/auth/login', { 'Content-Length': 3, 'Transfer-Encoding': 'chunked' }),
    ],
    [
      'with two Content-Length headers',
      head('POST', '/api/auth/login', { 'Content-Length': 3, 'content-length': 4 }),
    ],
    ['with a negative Content-Length', head('POST', '/api/auth/login', { 'Content-Length': -1 })],
    [
      'with a Content-Length that is not a number',
      head('POST', '/api/auth/login', { 'Content-Length': 'x' }),
    ],
    [
      'with an unsupported transfer encoding',
      head('POST', '/api/auth/login', { 'Transfer-Encoding': 'gzip, chunked' }),
    ],
    [
      'with a malformed chunk',
      `${head('POST', '/api/auth/login', { 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' })}zz\r\n`,
    ],
    ['with a space in its path', head('GET', '/api/spaces/tag/a b')],
    ['with a non-ASCII character in its path', head('GET', '/api/spaces/tag/\u00e9')],
    ['with a header without a colon', 'GET /healthz HTTP/1.1\r\nHost: a\r\nnonsense\r\n\r\n'],
    ['with NUL in a header', head('GET', '/healthz', { 'X-Nul': 'a\0b' })],
    ['with a folded header', 'GET /healthz HTTP/1.1\r\nHost: a\r\nX: y\r\n z\r\n\r\n'],
    ['in HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['in an unknown version of HTTP', 'GET /healthz HTTP/9.9\r\nHost: a\r\n\r\n'],
    ['that is not HTTP', 'hello there\r\n\r\n'],
    ['in TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
  ])('rejects a request %s', async (_, bytes) => {
    const problem = problemOf(await sendRaw(app.url, bytes));
    expect(problem).toMatchObject({ status: 400, code: 'invalid_request' });
    expect(problem.detail).not.toMatch(/HPE|parse error|node|fastify/i);
    await expectLogged(problem.request_id, { status: 400 });
  });

  test.each([
    ['a header of 16,384 bytes', head('GET', '/healthz', { 'X-Long': 'x'.repeat(16_384) })],
    ['a path of 16,384 bytes', head('GET', `/api/spaces/tag/${'x'.repeat(16_384)}`)],
    [
      'headers of 16,384 bytes',
      head(
        'GET',
        '/healthz',
        Object.fromEntries(Array.from({ length: 1500 }, (_, i) => [`X-${i}`, 'abcde'])),
      ),
    ],
  ])('rejects a request with %s', async (_, bytes) => {
    expect(problemOf(await sendRaw(app.url, bytes))).toMatchObject({
      status: 431,
      code: 'headers_too_large',
      detail: 'The request line and headers are larger than 16,384 bytes.',
    });
  });

  test.each(['/api/spaces/search?q=', '/api/spaces/tag/'])(
    'rejects a URL of 16,384 bytes as the contract declares: %s',
    async (path) => {
      const url = path.padEnd(16_384, 'x');
      const response = validateRaw('GET', app.url + url, await sendRaw(app.url, head('GET', url)));
      expect(response.status).toBe(431);
    },
  );

  test('accepts a path of 15,000 bytes', async () => {
    const response = await sendRaw(app.url, head('GET', `/api/spaces/tag/${'x'.repeat(15_000)}`));
    expect(response).toMatchObject({ status: 200, body: '[]' });
  });

  test('accepts HTTP/1.0 without a Host header', async () => {
    const response = await sendRaw(app.url, 'GET /healthz HTTP/1.0\r\n\r\n');
    expect(response).toMatchObject({ status: 200, body: '{"status":"ok"}' });
  });

  test('ignores the host in an absolute request target', async () => {
    const response = await sendRaw(
      app.url,
      head('GET', 'http://evil.example/openapi.yaml', { Host: 'evil.example' }),
    );
    expect(response?.status).toBe(200);
    expect(response?.body).not.toContain('evil');
  });

  test.each([
    ['http://evil.example/docs/static/index.html', 302, '/docs/'],
    ['HTTPS://evil.example:1/docs/static/index.html', 302, '/docs/'],
    ['http://evil.example?/healthz', 404, null],
    ['http://evil.example', 404, null],
  ])('never redirects to the host in the request target %s', async (target, status, location) => {
    const response = await sendRaw(app.url, head('GET', target, { Host: 'evil.example' }));
    expect(response?.status).toBe(status);
    expect(response?.headers.get('location')).toBe(location);
  });

  test('ignores a protocol upgrade', async () => {
    const response = await sendRaw(
      app.url,
      head('GET', '/healthz', { Connection: 'Upgrade', Upgrade: 'h2c' }),
    );
    expect(response?.status).toBe(200);
  });

  test('keeps a connection open after rejected requests', async () => {
    using connection = await openRaw(app.url);
    const login = (body: string, length: number = body.length) =>
      head('POST', '/api/auth/login', {
        'Content-Type': 'application/json',
        'Content-Length': length,
      }) + body;
    await connection.write(
      login('{') + login(' '.repeat(40_000)) + head('DELETE', '/healthz') + head('GET', '/healthz'),
    );
    const statuses = [];
    for (let i = 0; i < 4; i += 1) statuses.push((await connection.readResponse())?.status);
    expect(statuses).toEqual([400, 413, 405, 200]);
  });

  test('responds to 16 pipelined requests, and closes a connection with more', async () => {
    const request = head('GET', '/api/spaces/search?q=tea');
    using some = await openRaw(app.url);
    await some.write(request.repeat(16));
    for (let i = 0; i < 16; i += 1) expect((await some.readResponse())?.status).toBe(200);
    using many = await openRaw(app.url);
    await many.write(request.repeat(200));
    await many.closed;
    using other = await openRaw(app.url);
    await other.write(request);
    expect((await other.readResponse())?.status).toBe(200);
  });

  test('sends "100 Continue" to a client that waits for it', async () => {
    using connection = await openRaw(app.url);
    const body = '{"bio":"patient"}';
    await connection.write(
      head('PUT', '/api/profile/bio', {
        Authorization: `Bearer ${caller.token}`,
        Expect: '100-continue',
        'Content-Type': 'application/json',
        'Content-Length': body.length,
      }),
    );
    expect((await connection.readResponse())?.status).toBe(100);
    await connection.write(body);
    expect((await connection.readResponse())?.status).toBe(200);
  });

  test('rejects other expectations than 100-continue', async () => {
    const problem = problemOf(await sendRaw(app.url, head('GET', '/healthz', { Expect: 'tea' })));
    expect(problem).toMatchObject({ status: 417, code: 'expectation_failed' });
    await expectLogged(problem.request_id, { status: 417 });
  });

  test('generates a unique request id and logs it', async () => {
    const headers = { 'x-request-id': 'mine', 'request-id': 'mine' };
    const ids = await Promise.all(
      ['/nowhere', '/api/profile/me', '/api/spaces/search'].map(
        async (path) => (await (await app.fetch(path, { headers })).json()).request_id,
      ),
    );
    expect(new Set(ids).size).toBe(3);
    for (const [i, id] of ids.entries()) {
      expect(id).toMatch(UUID);
      await expectLogged(id, { status: [404, 401, 400][i] });
    }
  });
});

describe('The unread rest of a request body', () => {
  const length = { 'Content-Length': 60 * MEBIBYTE };
  const chunks = { 'Transfer-Encoding': 'chunked' };
  const json = { 'Content-Type': 'application/json' };

  test.each<[number, string, string, Record<string, string | number>]>([
    [
      401,
      'PUT',
      '/api/profile/picture',
      { ...length, 'Content-Type': 'multipart/form-data; boundary=x' },
    ],
    [401, 'PUT', '/api/profile/bio', { ...length, ...json }],
    [401, 'PUT', '/api/profile/bio', { ...chunks, ...json }],
    [401, 'DELETE', '/api/profile/account', { ...length }],
    [413, 'POST', '/api/auth/login', { ...length, ...json }],
    [413, 'POST', '/api/auth/login', { ...chunks, ...json }],
    [415, 'POST', '/api/auth/login', { ...length, 'Content-Type': 'text/plain' }],
    [404, 'POST', '/nowhere', { ...length, ...json }],
    [405, 'DELETE', '/api/spaces/search', { ...length, ...json }],
    [400, 'GET', '/api/spaces/tag/%FF', { ...length }],
    [400, 'GET', '/api/spaces/search', { ...chunks }],
    [417, 'POST', '/api/auth/login', { ...length, Expect: 'tea' }],
    [200, 'GET', '/healthz', { ...length }],
    [405, 'POST', '/healthz', { ...chunks }],
    [200, 'GET', '/avatars/default.webp', { ...length }],
    [405, 'PUT', '/avatars/default.webp', { ...length }],
  ])(
    'is drained up to a limit: %i to %s %s with %j',
    { timeout: 5_000 },
    async (status, method, path, headers) => {
      const accepted = new Promise<{ bytesRead: number }>((resolve) =>
        app.app.server.once('connection', resolve),
      );
      using connection = await openRaw(app.url);
      const socket = await accepted;
      await connection.write(head(method, path, headers));
      const filler = 'x'.repeat(64 * 1024);
      const isChunked = 'Transfer-Encoding' in headers;
      const piece = Buffer.from(isChunked ? `10000\r\n${filler}\r\n` : filler);
      if (!isChunked) expect((await connection.readResponse())?.status).toBe(status);
      for (
        let sent = 0;
        sent < 60 * MEBIBYTE && !connection.socket.destroyed;
        sent += filler.length
      ) {
        await connection.write(piece);
      }
      await connection.closed;
      if (isChunked) expect((await connection.readResponse())?.status).toBe(status);
      expect(socket.bytesRead).toBeGreaterThan(15 * MEBIBYTE);
      expect(socket.bytesRead).toBeLessThan(18 * MEBIBYTE);
    },
  );

  test('below the limit, does not affect the response or the connection', async () => {
    using connection = await openRaw(app.url);
    const piece = `80000\r\n${'x'.repeat(512 * 1024)}\r\n`;
    await connection.write(head('POST', '/api/auth/login', { ...chunks, ...json }));
    for (let i = 0; i < 16; i += 1) await connection.write(piece);
    await connection.write('0\r\n\r\n');
    expect((await connection.readResponse())?.status).toBe(413);
    await connection.write(head('GET', '/healthz'));
    expect((await connection.readResponse())?.status).toBe(200);
  });
});

describe('Every response', () => {
  const samples: [number, string, RequestInit?][] = [
    [200, '/api/spaces/search?q=tea'],
    [200, '/healthz'],
    [200, '/avatars/default.webp'],
    [200, '/openapi.yaml'],
    [200, '/docs'],
    [400, '/api/spaces/search'],
    [401, '/api/profile/me'],
    [404, '/nowhere'],
    [404, '/api/spaces/some-id'],
    [405, '/healthz', { method: 'POST' }],
    [
      413,
      '/api/auth/login',
      { method: 'POST', headers: { 'content-type': 'application/json' }, body: ' '.repeat(32_769) },
    ],
    [415, '/api/auth/login', { method: 'POST', body: 'x' }],
  ];

  test.each(samples)(
    'is readable for pages of any origin: %i of %s',
    async (status, path, init) => {
      const response = await app.fetch(path, {
        ...init,
        headers: { ...init?.headers, origin: 'https://app.example' },
      });
      expect(response.status).toBe(status);
      expect(response.headers.get('access-control-allow-origin')).toBe('*');
      expect(response.headers.get('access-control-allow-credentials')).toBeNull();
      const exposed = response.headers.get('access-control-expose-headers')?.split(', ');
      for (const name of [
        'Answered-Query',
        'Link',
        'Retry-After',
        'WWW-Authenticate',
        'RateLimit-Limit',
        'RateLimit-Remaining',
        'RateLimit-Reset',
      ]) {
        expect(exposed).toContain(name);
      }
    },
  );

  test.each(samples)('has security headers: %i of %s', async (status, path, init) => {
    const response = await app.fetch(path, init);
    expect(response.status).toBe(status);
    const { headers } = response;
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('x-frame-options')).toBe('SAMEORIGIN');
    expect(headers.get('x-powered-by')).toBeNull();
    expect(headers.get('server')).toBeNull();
    // This header would prevent browsers from using the service without TLS.
    expect(headers.get('strict-transport-security')).toBeNull();
    const policy = headers.get('content-security-policy');
    if (path === '/docs') expect(policy).not.toMatch(/unsafe|\*|upgrade/);
    else expect(policy).toBe("default-src 'none';frame-ancestors 'none'");
  });

  test.each(samples.filter(([status, path]) => status >= 400 || /healthz|search/.test(path)))(
    'has the content type of the contract: %i of %s',
    async (status, path, init) => {
      const response = await app.fetch(path, init);
      expect(response.headers.get('content-type')).toBe(
        status < 400 ? 'application/json' : 'application/problem+json',
      );
      expect(response.headers.get('cache-control')).toBe(status < 400 ? null : 'no-store');
    },
  );
});

describe('A CORS preflight', () => {
  test.each(operations)('allows $operationId', async (operation) => {
    const response = await fetch(app.url + exampleRequest(operation).url, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://app.example',
        'access-control-request-method': operation.method,
        'access-control-request-headers': 'authorization,content-type',
      },
    });
    expect(response.status).toBe(204);
    expect(await response.text()).toBe('');
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    expect(response.headers.get('access-control-allow-methods')?.split(', ')).toContain(
      operation.method,
    );
    expect(response.headers.get('access-control-allow-headers')).toBe('authorization,content-type');
    expect(Number(response.headers.get('access-control-max-age'))).toBeGreaterThan(0);
  });

  test('allows only the origins in CORS_ORIGINS', async () => {
    await using strict = await startApp({
      CORS_ORIGINS: 'https://app.example,https://b.example:8443',
    });
    const allowed = async (origin: string) => {
      const response = await strict.fetch('/api/spaces/search?q=tea', { headers: { origin } });
      expect(response.headers.get('vary')).toContain('Origin');
      return response.headers.get('access-control-allow-origin');
    };
    expect(await allowed('https://app.example')).toBe('https://app.example');
    expect(await allowed('https://b.example:8443')).toBe('https://b.example:8443');
    for (const origin of [
      'https://b.example',
      'http://app.example',
      'https://app.example.evil',
      'null',
    ]) {
      expect(await allowed(origin)).toBeNull();
    }
  });
});

describe('A stopping server', () => {
  test('responds to pending requests, and closes connections with unfinished ones', async () => {
    await using stopping = await startApp({}, { limits: { closeTimeoutMs: 1_500 } });
    const { token } = await stopping.register();
    const halves = [
      'GET /readyz HTTP/1.1\r\nHost: a\r\n',
      head('PUT', '/api/profile/bio', {
        Authorization: `Bearer ${token}`,
        'Content-Type': 'application/json',
        'Content-Length': 9,
      }),
      head('PUT', '/api/profile/picture', {
        Authorization: `Bearer ${token}`,
        'Content-Type': 'multipart/form-data; boundary=x',
        'Content-Length': 999,
      }),
      'GET /never HTTP/1.1\r\n',
      '',
    ];
    const connections = await Promise.all(halves.map(() => openRaw(stopping.url)));
    await Promise.all(halves.map((half, i) => connections[i]?.write(half)));
    const arrived = new Promise<void>((resolve) => {
      stopping.app.server.on('request', ({ url }) => url === '/api/auth/login' && resolve());
    });
    const login = stopping.fetch('/api/auth/login', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'user1@example.com', password: 'correct horse battery' }),
    });
    await arrived;

    const startedAt = performance.now();
    const closed = stopping.app.close();
    const connectAgain = () =>
      fetch(stopping.url).then(
        ({ status }) => status,
        () => 'closed',
      );
    await expect.poll(connectAgain).toBe('closed');
    expect((await login).status).toBe(200);
    await connections[0]?.write('\r\n');
    const ready = await connections[0]?.readResponse();
    expect(ready?.status).toBe(503);
    expect(ready?.headers.get('retry-after')).toBe('2');
    expect(JSON.parse(ready?.body ?? '')).toMatchObject({ code: 'unavailable' });
    await closed;
    expect(performance.now() - startedAt).toBeGreaterThan(1_400);
    await Promise.all(connections.map(({ closed }) => closed));
  });
});

test('Sheds load if the event loop is repeatedly delayed, and /healthz still returns 200', async () => {
  await using loaded = await startApp({}, { limits: { maxEventLoopDelayMs: 200 } });
  // Blocks the event loop before each request.
  let isBlocking = false;
  loaded.app.server.prependListener('request', () => {
    const startedAt = performance.now();
    while (isBlocking && performance.now() - startedAt < 300);
  });
  const search = async () => {
    const headers = { origin: 'https://a.example' };
    const response = await loaded.fetch('/api/spaces/search?q=tea', { headers });
    await sleep(100);
    return response;
  };
  isBlocking = true;
  expect((await search()).status, 'during the start').toBe(200);
  expect((await search()).status, 'during the start').toBe(200);
  isBlocking = false;
  await sleep(2_000);

  isBlocking = true;
  expect((await search()).status, 'after a single delay').toBe(200);
  let response = await search();
  for (let i = 0; i < 10 && response.status === 200; i += 1) response = await search();
  expect(await response.json()).toMatchObject({ status: 503, code: 'unavailable' });
  expect(Number(response.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  expect(response.headers.get('access-control-allow-origin')).toBe('*');
  expect((await loaded.fetch('/readyz')).status).toBe(503);
  expect((await loaded.fetch('/healthz')).status).toBe(200);
  isBlocking = false;
  expect((await search()).status, 'after the overload').toBe(200);
});
