import { beforeAll, describe, expect, test } from 'vitest';
import type { TestUser } from '../support/client.ts';
import { head, openRaw, sendRaw } from '../support/raw.ts';
import { recordLog } from '../support/record-log.ts';
import { useApp } from '../support/use-app.ts';
import { problemOf, UUID } from './raw-problem.ts';

const MEBIBYTE = 1024 * 1024;

let caller: TestUser;
const { log, lines } = recordLog<{ reqId: string; status: number }>();
const app = useApp({}, { log });
beforeAll(async () => {
  caller = await app.register();
});

/** Waits for the log line of a request. */
async function expectLogged(id: string, line: object) {
  await expect.poll(() => lines.find(({ reqId }) => reqId === id)).toMatchObject(line);
}

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

  test('rejects a malformed body even for an operation without a body, and does not perform it', async () => {
    const { headers } = await app.register();
    const logout = head('POST', '/api/auth/logout', { ...headers, 'Transfer-Encoding': 'chunked' });
    expect(problemOf(await sendRaw(app.url, `${logout}zz\r\n`)).status).toBe(400);
    expect((await app.fetch('/api/profile/me', { headers })).status).toBe(200);
  });

  test.each([
    ['a header of 16,384 bytes', head('GET', '/healthz', { 'X-Long': 'x'.repeat(16_384) })],
    ['a path of 16,384 bytes', head('GET', `/api/spaces/tag/${'x'.repeat(16_384)}`)],
    [
      '1,500 short headers, together larger than 16,384 bytes',
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

  test('accepts a request line of 15,000 bytes', async () => {
    const path = `/api/spaces/tag/x?unknown=${'x'.repeat(15_000)}`;
    const response = await sendRaw(app.url, head('GET', path));
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
    ['http://evil.example/docs', 302, 'docs/'],
    ['HTTPS://evil.example:1/docs', 302, 'docs/'],
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

  test.each([
    ['a malformed request', 'nonsense', '\r\n\r\nnonsense\r\n\r\n'],
    [
      'a request with a malformed body',
      head('POST', '/api/auth/login', {
        'Content-Type': 'application/json',
        'Transfer-Encoding': 'chunked',
      }),
      'zz\r\n',
    ],
  ])('responds to the requests before %s first', async (_, malformed, more) => {
    const login = JSON.stringify({ email: caller.email, password: caller.password });
    const requests = [
      head('GET', '/api/spaces/search?q=tea'),
      head('POST', '/api/auth/login', {
        'Content-Type': 'application/json',
        'Content-Length': login.length,
      }) + login,
    ];
    using connection = await openRaw(app.url);
    await connection.write(requests.join('') + malformed);
    // More of it, while the login is pending.
    await connection.write(more);
    const statuses = [];
    for (let i = 0; i < 3; i += 1) statuses.push((await connection.readResponse())?.status);
    expect(statuses).toEqual([200, 200, 400]);
    await connection.closed;
    expect(await connection.readResponse()).toBeUndefined();
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
    // Less than the timeouts of the server, so that only the limit can have closed the connection.
    { timeout: 25_000 },
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
