import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { operations } from '../../server/contract.ts';
import { startApp, type TestApp } from '../support/app.ts';
import type { TestUser } from '../support/client.ts';
import { declaredStatuses } from '../support/contract.ts';
import { databaseError, UNAVAILABLE_CODES, UNEXPECTED_CODE } from '../support/databases.ts';
import { type Failure, failingEngine } from '../support/failing-engine.ts';
import { startMailServer } from '../support/mail-server.ts';
import { head, openRaw, sendRaw, validateRaw } from '../support/raw.ts';
import { recordLog } from '../support/record-log.ts';
import { exampleRequest, sessionEndingOperations } from '../support/requests.ts';
import { useApp } from '../support/use-app.ts';

const mailServer = await startMailServer();
afterAll(() => mailServer[Symbol.asyncDispose]());

const operationsRequiringToken = operations.filter((each) => each.authentication === 'required');
const operationsAcceptingToken = operations.filter((each) => each.authentication === 'optional');
const operationsIgnoringToken = operations.filter((each) => each.authentication === 'none');
const declares400 = new Set(
  declaredStatuses()
    .filter((each) => each.endsWith(' 400'))
    .map((each) => each.split(' ')[0]),
);
const operationsWithBody = operations.filter((each) => each.bodyType !== null);
const operationsWithoutBody = operations.filter((each) => each.bodyType === null);

/** Number of queries before the handler. Authentication runs one query. */
const QUERIES_BEFORE_HANDLER = { required: 1, optional: 1, none: 0 };

describe('with a working database', () => {
  const app = useApp(mailServer.settings);
  let caller: TestUser;
  let revoked: string;
  let expired: string;
  beforeAll(async () => {
    caller = await app.register();
    const other = await app.register();
    revoked = other.headers.authorization as string;
    await app.fetch('/api/auth/logout', { method: 'POST', headers: other.headers });
    const idle = await app.register();
    expired = idle.headers.authorization as string;
    await app.context.engine.db
      .updateTable('sessions')
      .set({ last_used_at: '2020-01-01T00:00:00.000Z' })
      .where('user_pk', '=', (db) =>
        db.selectFrom('users').select('pk').where('user_id', '=', idle.userId),
      )
      .execute();
  });

  const send = async (
    operation: (typeof operations)[number],
    headers: Record<string, string>,
    init: RequestInit = {},
  ) => {
    const { url, init: example } = exampleRequest(operation);
    const response = await app.fetch(url, {
      ...example,
      ...init,
      headers: { ...(example.headers as Record<string, string>), ...headers },
    });
    return { response, problem: await response.json() };
  };

  const withoutInput = operations.filter(({ operationId }) => !declares400.has(operationId));
  test.each(withoutInput.map((each) => [each.operationId, each] as const))(
    '%s ignores a malformed query string',
    async (_, { method, path, responses }) => {
      const { headers } = await app.register();
      const response = await app.fetch(`${path}?x=%FF`, { method, headers });
      expect(response.status).toBe(responses[202] ? 202 : 200);
    },
  );

  test.each(operations)(
    '$operationId rejects headers of 16,384 bytes',
    async ({ method, path }) => {
      const url = path.replace(/\{\w+\}/g, 'some-id');
      const bytes = head(method, url, { 'X-Long': 'x'.repeat(16_384) });
      const response = validateRaw(method, app.url + url, await sendRaw(app.url, bytes));
      expect(response.status).toBe(431);
    },
  );

  test.each(['/api/spaces/search?q=tea', '/api/participations?limit=5'])(
    'ignores an unknown query parameter of %s',
    async (path) => {
      const { headers } = caller;
      expect((await app.fetch(`${path}&utm_source=mail`, { headers })).status).toBe(200);
    },
  );

  const idParameters = operations.flatMap((operation) =>
    operation.parameters
      .filter(({ name, required }) => required && name.endsWith('_id'))
      .map(({ name, in: place }) => ({ operation, ...operation, name, place })),
  );
  test.each(idParameters)('$operationId rejects a malformed $name', async (parameter) => {
    const { operation, name, place } = parameter;
    for (const id of ['a'.repeat(65), 'no id', "'--", 'a\0']) {
      const { url, init } = exampleRequest(operation, { [name]: id });
      const headers = { ...(init.headers as Record<string, string>), ...caller.headers };
      const response = await app.fetch(url, { ...init, headers });
      expect(response.status).toBe(400);
      const problem = await response.json();
      expect(problem).toMatchObject({ code: 'invalid_request', errors: [{ in: place, name }] });
    }
  });

  const invalidTokens: [string, () => string][] = [
    ['with unknown content', () => `Bearer sps_${'a'.repeat(43)}`],
    ['that was revoked', () => revoked],
    ['that has expired', () => expired],
    ['without its last character', () => caller.headers.authorization?.slice(0, -1) as string],
    ['followed by other text', () => `${caller.headers.authorization} x`],
    ['in capitals', () => caller.headers.authorization?.toUpperCase() as string],
    ['with invalid characters', () => 'Bearer "sps_\u00FF"'],
  ];

  describe.each(operationsRequiringToken)('$operationId', (operation) => {
    test('requires a token', async () => {
      for (const authorization of [
        undefined,
        '',
        'Bearer',
        caller.token,
        `Basic ${caller.token}`,
      ]) {
        const { response, problem } = await send(operation, {
          ...(authorization !== undefined && { authorization }),
        });
        expect(problem).toMatchObject({ status: 401, code: 'unauthenticated', errors: [] });
        expect(response.headers.get('www-authenticate')).toBe('Bearer');
      }
    });

    test.each(invalidTokens)('rejects a token %s', async (_, authorization) => {
      const { response, problem } = await send(operation, { authorization: authorization() });
      expect(problem).toMatchObject({ status: 401, code: 'unauthenticated', errors: [] });
      expect(response.headers.get('www-authenticate')).toBe('Bearer error="invalid_token"');
    });

    test('ends the session only if test/support/requests.ts lists it in sessionEndingOperations', async () => {
      const { headers } = await app.register();
      await send(operation, headers);
      const { status } = await app.fetch('/api/profile/me', { headers });
      const endsSession = sessionEndingOperations.includes(operation.operationId);
      expect(status).toBe(endsSession ? 401 : 200);
    });

    test('rejects a missing token before it validates the body, path and query', async () => {
      const body = operation.method === 'GET' ? {} : { body: '{'.padEnd(40_000) };
      const { problem } = await send(operation, { 'content-type': 'text/plain' }, body);
      expect(problem).toMatchObject({ status: 401, code: 'unauthenticated' });
      const path = operation.path.replace(/\{\w+\}/g, '%20');
      const response = await app.fetch(`${path}?limit=x&everywhere=x`, {
        method: operation.method,
      });
      expect(response.status).toBe(401);
    });
  });

  describe.each(operationsAcceptingToken)('$operationId', (operation) => {
    test('accepts a request without a token', async () => {
      // The ids in the examples do not exist.
      const expected = operation.operationId === 'listSpaces' ? 200 : 404;
      expect((await send(operation, {})).response.status).toBe(expected);
    });

    test.each([
      ...invalidTokens,
      ['of another scheme', () => 'Basic YTpi'],
    ] as typeof invalidTokens)('rejects a token %s', async (_, authorization) => {
      const { problem } = await send(operation, { authorization: authorization() });
      expect(problem).toMatchObject({ status: 401, code: 'unauthenticated' });
    });
  });

  test.each(operationsIgnoringToken)('$operationId ignores an invalid token', async (operation) => {
    const without = await send(operation, {}, { body: null });
    const withToken = await send(operation, { authorization: expired }, { body: null });
    expect(withToken.response.status).toBe(without.response.status);
    expect(withToken.problem.code).toBe(without.problem.code);
  });

  describe.each(operationsWithBody)('the body of $operationId', (operation) => {
    const { bodyType } = operation;
    const { url, init } = exampleRequest(operation);

    test('must have a type', async () => {
      const body = new Uint8Array(Buffer.from('{}'));
      const response = await app.fetch(url, { ...init, headers: caller.headers, body });
      expect(response.status).toBe(415);
      expect(await response.json()).toMatchObject({
        code: 'unsupported_media_type',
        detail: `Send the body as ${bodyType}, uncompressed.`,
      });
    });

    test.each([
      'text/plain',
      'application/xml',
      '*/*',
      'application',
      'application/',
      ', ',
      '"',
      `${bodyType}x`,
      `x${bodyType}`,
      `${bodyType}; charset=utf-16`,
      `text/plain; ${bodyType}`,
    ])('must not have the type %s', async (type) => {
      const headers = { ...caller.headers, 'content-type': type };
      const { problem } = await send(operation, headers, { body: '{}' });
      expect(problem).toMatchObject({ status: 415, code: 'unsupported_media_type' });
    });

    test.each(['gzip', 'br', 'identity', 'x'])('must not be encoded as %s', async (encoding) => {
      const headers = {
        ...caller.headers,
        'content-encoding': encoding,
        'content-type': `${bodyType}; boundary=x`,
      };
      const { problem } = await send(operation, headers, { body: '{}' });
      expect(problem).toMatchObject({ status: 415, code: 'unsupported_media_type' });
    });

    test('is rejected without reading it if Content-Length is too large', async () => {
      using connection = await openRaw(app.url);
      await connection.write(
        head(operation.method, url, {
          Authorization: caller.headers.authorization as string,
          'Content-Type': `${bodyType}; boundary=x`,
          'Content-Length': 60_000_000,
        }),
      );
      const response = validateRaw(
        operation.method,
        app.url + url,
        await connection.readResponse(),
      );
      expect(response.status).toBe(413);
      expect(connection.socket.destroyed).toBe(false);
    });
  });

  test.each([
    'application/json;charset=utf-8',
    'Application/JSON; charset="UTF-8"',
    'application/json ; x=y',
  ])('changeBio accepts the content type %s', async (type) => {
    const headers = { ...caller.headers, 'content-type': type };
    const body = '{"bio":"Ümläute"}';
    const response = await fetch(`${app.url}/api/profile/bio`, { method: 'PUT', headers, body });
    expect(response.status).toBe(200);
  });

  describe.each(operationsWithoutBody.filter(({ method }) => method !== 'GET'))(
    '$operationId',
    (operation) => {
      const callerFor = async () =>
        sessionEndingOperations.includes(operation.operationId) ? await app.register() : caller;

      test.each<[string, Record<string, string>, BodyInit?]>([
        ['a JSON type and no body', { 'content-type': 'application/json' }],
        [
          'a JSON type, a length of 0 and no body',
          { 'content-type': 'application/json', 'content-length': '0' },
        ],
        ['JSON', { 'content-type': 'application/json' }, '{"a":1}'],
        ['malformed JSON', { 'content-type': 'application/json' }, '{'],
        ['text', { 'content-type': 'text/plain' }, 'text'],
        ['bytes without a type', {}, new Uint8Array(3)],
        ['bytes of a malformed type', { 'content-type': ';;' }, new Uint8Array(3)],
        ['a form', {}, new FormData()],
        ['compressed bytes', { 'content-encoding': 'gzip' }, new Uint8Array(3)],
        ['bytes of unknown length', {}, new Blob(['x'.repeat(40_000)]).stream()],
        ['40,000 bytes', { 'content-type': 'application/json' }, ' '.repeat(40_000)],
      ])('ignores %s', async (_, headers, body) => {
        const withoutBody = await send(operation, (await callerFor()).headers);
        const withBody = await send(operation, { ...(await callerFor()).headers, ...headers }, {
          ...(body && { body, duplex: 'half' }),
        } as RequestInit);
        expect(withBody.response.status).toBe(withoutBody.response.status);
        expect([200, 202, 404]).toContain(withBody.response.status);
      });
    },
  );

  test.each(operations.filter(({ method }) => method === 'GET'))(
    'HEAD returns the status and headers of $operationId without a body',
    async (operation) => {
      const { response } = await send(operation, caller.headers);
      const { url } = exampleRequest(operation);
      const head = await app.fetch(url, { method: 'HEAD', headers: caller.headers });
      expect(head.status).toBe(response.status);
      expect(await head.text()).toBe('');
      expect(head.headers.get('content-type')).toBe(response.headers.get('content-type'));
      expect(head.headers.get('content-length')).toBe(response.headers.get('content-length'));
    },
  );
});

describe('with a failing database', () => {
  let app: TestApp;
  let caller: TestUser;
  let failure: Failure | undefined;
  const { log, lines } = recordLog<{ reqId?: string; err?: { message: string } }>('warn');
  beforeAll(async () => {
    app = await startApp(mailServer.settings, {
      log,
      engine: (real) => failingEngine(real, () => failure),
    });
    caller = await app.register();
  });
  afterAll(() => {
    failure = undefined;
    return app[Symbol.asyncDispose]();
  });

  const send = async (operation: (typeof operations)[number], code: string, after: number) => {
    const { url, init } = exampleRequest(operation);
    const headers = { ...(init.headers as Record<string, string>), ...caller.headers };
    failure = {
      error: databaseError('no such column: password of /srv/data', code),
      after,
    };
    try {
      return await app.fetch(url, { ...init, headers });
    } finally {
      failure = undefined;
    }
  };

  // It describes the settings.
  const usingDatabase = operations.filter(({ operationId }) => operationId !== 'getServer');
  describe.each(usingDatabase)('$operationId', (operation) => {
    const after = QUERIES_BEFORE_HANDLER[operation.authentication];

    test('returns 500 without details for an unexpected error, and logs it', async () => {
      const response = await send(operation, UNEXPECTED_CODE, after);
      const text = await response.text();
      expect(text).not.toMatch(/column|password|srv|sql/i);
      const { request_id, ...problem } = JSON.parse(text);
      expect(problem).toEqual({
        type: 'about:blank',
        title: 'Internal Server Error',
        status: 500,
        code: 'internal',
        detail: 'An internal error occurred. Quote the request_id if you report it.',
        errors: [],
      });
      expect(response.headers.get('retry-after')).toBeNull();
      const logged = lines.find(({ reqId }) => reqId === request_id);
      expect(logged?.err?.message).toBe('no such column: password of /srv/data');
    });

    test.each(UNAVAILABLE_CODES)('returns 503 with Retry-After for %s', async (code) => {
      const response = await send(operation, code, after);
      expect(await response.json()).toMatchObject({
        status: 503,
        code: 'unavailable',
        errors: [],
      });
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    });

    if (operation.authentication !== 'none') {
      test('does not return 401 if the session cannot be read', async () => {
        expect((await send(operation, UNAVAILABLE_CODES[0], 0)).status).toBe(503);
        expect((await send(operation, UNEXPECTED_CODE, 0)).status).toBe(500);
      });
    }
  });
});

test('errors have the headers of a rate limit only if the contract declares them', async () => {
  await using limited = await startApp({ RATE_LIMITS: 'on' });
  const names = async (path: string, init?: RequestInit) => {
    const { status, headers } = await limited.fetch(path, init);
    return [status, headers.has('ratelimit-limit')];
  };
  expect(await names('/api/tags')).toEqual([200, true]);
  expect(await names('/api/tags?limit=0')).toEqual([400, false]);
  expect(await names('/api/spaces/unknown')).toEqual([404, false]);
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ email: 'nobody@example.org', password: 'wrong password' });
  expect(await names('/api/auth/login', { method: 'POST', headers, body })).toEqual([401, true]);
});

describe('with a limit of reads', () => {
  const app = useApp({ RATE_LIMITS: 'on', PUBLIC_RATE_LIMIT: '2' });
  let caller: TestUser;
  beforeAll(async () => {
    caller = await app.register();
    for (let i = 0; i < 2; i += 1) await app.fetch('/api/profile/me', { headers: caller.headers });
    const search = operations.find(({ operationId }) => operationId === 'searchSpaces');
    if (!search) throw new Error('The contract has no searchSpaces.');
    for (const remaining of ['1', '0']) {
      const response = await app.fetch(exampleRequest(search).url);
      expect(response.status).toBe(200);
      expect(response.headers.get('ratelimit-limit')).toBe('2');
      expect(response.headers.get('ratelimit-remaining')).toBe(remaining);
      expect(Number(response.headers.get('ratelimit-reset'))).toBeGreaterThanOrEqual(1);
    }
  });

  test.each(operations.filter((each) => each.isPublicRead || each.isOwnRead))(
    '$operationId returns 429 when the limit is reached',
    async (operation) => {
      const headers = operation.isOwnRead ? caller.headers : {};
      const response = await app.fetch(exampleRequest(operation).url, { headers });
      const seconds = Number(response.headers.get('retry-after'));
      expect(await response.json()).toMatchObject({
        status: 429,
        code: 'too_many_requests',
        detail: `Too many requests. Try again in ${seconds} seconds.`,
      });
      expect(seconds).toBeGreaterThanOrEqual(1);
      expect(seconds).toBeLessThanOrEqual(60);
      expect(response.headers.get('ratelimit-remaining')).toBe('0');
    },
  );
});

describe('a request that arrives too slowly', () => {
  let app: TestApp;
  let caller: TestUser;
  beforeAll(async () => {
    const limits = {
      headersTimeoutMs: 300,
      requestTimeoutMs: 300,
      connectionCheckIntervalMs: 50,
    };
    app = await startApp({}, { limits });
    caller = await app.register();
  });
  afterAll(() => app[Symbol.asyncDispose]());

  test.concurrent.each(operationsWithBody)('is rejected by $operationId', async (operation) => {
    const { method } = operation;
    const { url } = exampleRequest(operation);
    using connection = await openRaw(app.url);
    const type =
      operation.bodyType === 'multipart/form-data'
        ? 'multipart/form-data; boundary=x'
        : operation.bodyType;
    await connection.write(
      head(method, url, {
        Authorization: caller.headers.authorization as string,
        'Content-Type': String(type),
        'Content-Length': 100,
      }),
    );
    await connection.write('--x\r\n');
    const response = validateRaw(method, app.url + url, await connection.readResponse());
    expect(JSON.parse(response.body)).toMatchObject({ status: 408, code: 'request_timeout' });
    expect(response.headers.get('connection')).toBe('close');
    await connection.closed;
  });

  test.concurrent.each([
    ['its headers', 'GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ', 'a'],
    ['its body', head('PUT', '/api/profile/bio', { 'Content-Length': 9_999 }), ' '],
    [
      'its chunks',
      head('PUT', '/api/profile/bio', { 'Transfer-Encoding': 'chunked' }),
      '1\r\n \r\n',
    ],
  ])('is rejected even if the client keeps sending %s byte by byte', async (_, start, data) => {
    using connection = await openRaw(app.url);
    const withToken = start.replace(
      'Host: localhost',
      `Host: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer ${caller.token}`,
    );
    await connection.write(withToken);
    const trickle = setInterval(() => connection.socket.write(data), 20);
    try {
      const response = await connection.readResponse();
      expect(response?.status).toBe(408);
      await connection.closed;
    } finally {
      clearInterval(trickle);
    }
  });
});
