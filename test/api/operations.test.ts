import Sqlite from 'better-sqlite3';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { operations } from '../../server/contract.ts';
import { startApp, type TestApp, type TestUser } from '../support/app.ts';
import { declaredStatuses } from '../support/contract.ts';
import { type Failure, failingEngine } from '../support/failing.ts';
import { head, openRaw, validateRaw } from '../support/raw.ts';
import { exampleRequest, sessionEndingOperations } from '../support/requests.ts';

const requiring = operations.filter((each) => each.authentication === 'required');
const optional = operations.filter((each) => each.authentication === 'optional');
const open = operations.filter((each) => each.authentication === 'none');
const declares400 = new Set(
  declaredStatuses()
    .filter((each) => each.endsWith(' 400'))
    .map((each) => each.split(' ')[0]),
);
const withBody = operations.filter((each) => each.bodyType !== null);
const withoutBody = operations.filter((each) => each.bodyType === null);

/** Authentication is one query. */
const beforeHandler = { required: 1, optional: 1, none: 0 };

describe('With a sound database', () => {
  let app: TestApp;
  let caller: TestUser;
  let revoked: string;
  let expired: string;
  beforeAll(async () => {
    app = await startApp();
    caller = await app.register();
    const other = await app.register();
    revoked = other.headers.authorization as string;
    await app.fetch('/api/auth/logout', { method: 'POST', headers: other.headers });
    const late = await app.register();
    expired = late.headers.authorization as string;
    await app.context.engine.db
      .updateTable('sessions')
      .set({ last_used_at: '2020-01-01T00:00:00.000Z' })
      .where('user', '=', (db) =>
        db.selectFrom('users').select('id').where('user_id', '=', late.userId),
      )
      .execute();
  });
  afterAll(() => app[Symbol.asyncDispose]());

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
    '%s does not look at its query string, however broken',
    async (_, { method, path }) => {
      const { headers } = await app.register();
      const response = await app.fetch(`${path}?x=%FF`, { method, headers });
      expect(response.status).toBe(200);
    },
  );

  const badTokens: [string, () => string][] = [
    ['that nobody was given', () => `Bearer sps_${'a'.repeat(43)}`],
    ['that was revoked', () => revoked],
    ['that has expired', () => expired],
    ['cut short', () => caller.headers.authorization?.slice(0, -1) as string],
    ['with more behind it', () => `${caller.headers.authorization} x`],
    ['in other capitals', () => caller.headers.authorization?.toUpperCase() as string],
    ['with signs that no token has', () => 'Bearer "sps_\u00FF"'],
  ];

  describe.each(requiring)('$operationId', (operation) => {
    test('wants a token', async () => {
      for (const authorization of [undefined, '', 'Bearer', 'Bearer ', `Basic ${caller.token}`]) {
        const { response, problem } = await send(operation, {
          ...(authorization !== undefined && { authorization }),
        });
        expect(problem).toMatchObject({ status: 401, code: 'unauthenticated', errors: [] });
        expect(response.headers.get('www-authenticate')).toBe('Bearer');
      }
    });

    test.each(badTokens)('refuses a token %s', async (_, authorization) => {
      const { response, problem } = await send(operation, { authorization: authorization() });
      expect(problem).toMatchObject({ status: 401, code: 'unauthenticated', errors: [] });
      expect(response.headers.get('www-authenticate')).toBe('Bearer error="invalid_token"');
    });

    test('is in sessionEndingOperations of test/support/requests.ts if it ends the session', async () => {
      const { headers } = await app.register();
      await send(operation, headers);
      const { status } = await app.fetch('/api/profile/me', { headers });
      const isOver = sessionEndingOperations.includes(operation.operationId);
      expect(status).toBe(isOver ? 401 : 200);
    });

    test('tells a stranger nothing of what else is wrong', async () => {
      const body = operation.method === 'GET' ? {} : { body: '{'.padEnd(40_000) };
      const { problem } = await send(operation, { 'content-type': 'text/plain' }, body);
      expect(problem).toMatchObject({ status: 401, code: 'unauthenticated' });
      const path = operation.path.replace(/\{\w+\}/, '%20');
      const response = await app.fetch(`${path}?limit=x&everywhere=x`, {
        method: operation.method,
      });
      expect(response.status).toBe(401);
    });
  });

  describe.each(optional)('$operationId', (operation) => {
    test('wants no token', async () => {
      expect((await send(operation, {})).response.status).toBe(404);
    });

    test.each([...badTokens, ['of another kind', () => 'Basic YTpi']] as typeof badTokens)(
      'refuses a token %s',
      async (_, authorization) => {
        const { problem } = await send(operation, { authorization: authorization() });
        expect(problem).toMatchObject({ status: 401, code: 'unauthenticated' });
      },
    );
  });

  test.each(open)('$operationId takes no notice of a token', async (operation) => {
    const without = await send(operation, {}, { body: null });
    const withToken = await send(operation, { authorization: expired }, { body: null });
    expect(withToken.response.status).toBe(without.response.status);
    expect(withToken.problem.code).toBe(without.problem.code);
  });

  test.each(['bearer', 'BEARER', 'bEaReR', 'Bearer  '])(
    '"%s" announces a token',
    async (scheme) => {
      const headers = { authorization: `${scheme} ${caller.token}` };
      expect((await app.fetch('/api/profile/me', { headers })).status).toBe(200);
    },
  );

  describe.each(withBody)('The body of $operationId', (operation) => {
    const { bodyType } = operation;
    const { url, init } = exampleRequest(operation);

    test('has a type', async () => {
      const body = new Uint8Array(Buffer.from('{}'));
      const response = await app.fetch(url, { ...init, headers: caller.headers, body });
      expect(response.status).toBe(415);
      expect(await response.json()).toMatchObject({
        code: 'unsupported_media_type',
        detail: `Send the body as ${bodyType}, uncompressed.`,
      });
    });

    test.each([
      ...['text/plain', 'application/xml', '*/*', 'application', 'application/', ', ', '"'],
      ...[`${bodyType}x`, `x${bodyType}`, `${bodyType}; charset=utf-16`, `text/plain; ${bodyType}`],
    ])('has not the type %s', async (type) => {
      const { problem } = await send(
        operation,
        { ...caller.headers, 'content-type': type },
        {
          body: '{}',
        },
      );
      expect(problem).toMatchObject({ status: 415, code: 'unsupported_media_type' });
    });

    test.each(['gzip', 'br', 'identity', 'x'])('is not encoded as %s', async (encoding) => {
      const { problem } = await send(
        operation,
        {
          ...caller.headers,
          ...{ 'content-encoding': encoding, 'content-type': `${bodyType}; boundary=x` },
        },
        { body: '{}' },
      );
      expect(problem).toMatchObject({ status: 415, code: 'unsupported_media_type' });
    });

    test('is refused where it cannot but be too large', async () => {
      using connection = await openRaw(app.url);
      await connection.write(
        head(operation.method, url, {
          Authorization: caller.headers.authorization as string,
          'Content-Type': `${bodyType}; boundary=x`,
          'Content-Length': 60_000_000,
        }),
      );
      const answer = validateRaw(operation.method, app.url + url, await connection.answer());
      expect(answer.status).toBe(413);
      expect(connection.socket.destroyed).toBe(false);
    });
  });

  test.each([
    'application/json;charset=utf-8',
    'Application/JSON; charset="UTF-8"',
    'application/json ; x=y',
  ])('JSON may be called %s', async (type) => {
    const headers = { ...caller.headers, 'content-type': type };
    const body = '{"bio":"Ümläute"}';
    const response = await fetch(`${app.url}/api/profile/bio`, { method: 'PUT', headers, body });
    expect(response.status).toBe(200);
  });

  describe.each(withoutBody.filter(({ method }) => method !== 'GET'))(
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
        ['what is called JSON', { 'content-type': 'application/json' }, '{'],
        ['text', { 'content-type': 'text/plain' }, 'text'],
        ['bytes of no type', {}, new Uint8Array(3)],
        ['bytes of a type that is none', { 'content-type': ';;' }, new Uint8Array(3)],
        ['a form', {}, new FormData()],
        ['compressed bytes', { 'content-encoding': 'gzip' }, new Uint8Array(3)],
        ['bytes of unknown length', {}, new Blob(['x'.repeat(40_000)]).stream()],
        ['40,000 bytes', { 'content-type': 'application/json' }, ' '.repeat(40_000)],
      ])('takes no notice of %s', async (_, headers, body) => {
        const bare = await send(operation, (await callerFor()).headers);
        const dressed = await send(operation, { ...(await callerFor()).headers, ...headers }, {
          ...(body && { body, duplex: 'half' }),
        } as RequestInit);
        expect(dressed.response.status).toBe(bare.response.status);
        expect([200, 404]).toContain(dressed.response.status);
      });
    },
  );

  test.each(operations.filter(({ method }) => method === 'GET'))(
    'HEAD answers as $operationId does, without the body',
    async (operation) => {
      const { response } = await send(operation, caller.headers);
      const { url } = exampleRequest(operation);
      const bare = await app.fetch(url, { method: 'HEAD', headers: caller.headers });
      expect(bare.status).toBe(response.status);
      expect(await bare.text()).toBe('');
      expect(bare.headers.get('content-type')).toBe(response.headers.get('content-type'));
      expect(bare.headers.get('content-length')).toBe(response.headers.get('content-length'));
    },
  );
});

describe('With a database that fails', () => {
  let app: TestApp;
  let caller: TestUser;
  let failure: Failure | undefined;
  const log: string[] = [];
  beforeAll(async () => {
    app = await startApp(
      {},
      {
        log: pino({ level: 'warn' }, { write: (line: string) => void log.push(line) }),
        engine: (real) => failingEngine(real, () => failure),
      },
    );
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
      error: new Sqlite.SqliteError('no such column: password of /srv/data', code),
      after,
    };
    try {
      return await app.fetch(url, { ...init, headers });
    } finally {
      failure = undefined;
    }
  };

  describe.each(operations)('$operationId', (operation) => {
    const after = beforeHandler[operation.authentication];

    test('is at fault when a query is, and lets nothing out', async () => {
      const response = await send(operation, 'SQLITE_ERROR', after);
      const text = await response.text();
      expect(text).not.toMatch(/column|password|srv|sqlite/i);
      const { request_id, ...problem } = JSON.parse(text);
      expect(problem).toEqual({
        ...{ type: 'about:blank', title: 'Internal Server Error', status: 500, code: 'internal' },
        detail:
          'The server failed. Nothing you sent is at fault; quote the request_id when you report it.',
        errors: [],
      });
      expect(response.headers.get('retry-after')).toBeNull();
      const noted = log.find((line) => line.includes(request_id));
      expect(noted).toContain('no such column: password of /srv/data');
    });

    test.each(['SQLITE_FULL', 'SQLITE_BUSY', 'SQLITE_IOERR_WRITE', 'SQLITE_READONLY'])(
      'is unavailable for a moment after %s',
      async (code) => {
        const response = await send(operation, code, after);
        expect(await response.json()).toMatchObject({
          status: 503,
          code: 'unavailable',
          errors: [],
        });
        expect(Number(response.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      },
    );

    if (operation.authentication !== 'none') {
      test('does not blame the token when the database cannot be asked', async () => {
        expect((await send(operation, 'SQLITE_IOERR_READ', 0)).status).toBe(503);
        expect((await send(operation, 'SQLITE_ERROR', 0)).status).toBe(500);
      });
    }
  });

  test('/readyz says so, and /healthz does not', async () => {
    failure = { error: new Sqlite.SqliteError('disk I/O error', 'SQLITE_IOERR'), after: 0 };
    const ready = await app.fetch('/readyz');
    expect(await ready.json()).toMatchObject({ status: 503, code: 'unavailable' });
    expect((await app.fetch('/healthz')).status).toBe(200);
    failure = undefined;
    expect((await app.fetch('/readyz')).status).toBe(200);
  });
});

describe('Where public reads are limited', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp({ RATE_LIMITS: 'on', PUBLIC_RATE_LIMIT: '2' });
    const search = operations.find(({ operationId }) => operationId === 'searchSpaces');
    if (!search) throw new Error('There is no search.');
    for (const remaining of ['1', '0']) {
      const response = await app.fetch(exampleRequest(search).url);
      expect(response.status).toBe(200);
      expect(response.headers.get('ratelimit-limit')).toBe('2');
      expect(response.headers.get('ratelimit-remaining')).toBe(remaining);
      expect(Number(response.headers.get('ratelimit-reset'))).toBeGreaterThanOrEqual(1);
    }
  });
  afterAll(() => app[Symbol.asyncDispose]());

  test.each(operations.filter((each) => each.isPublicRead))(
    '$operationId has to wait once the limit is reached',
    async (operation) => {
      const response = await app.fetch(exampleRequest(operation).url);
      const seconds = Number(response.headers.get('retry-after'));
      expect(await response.json()).toMatchObject({
        ...{ status: 429, code: 'too_many_requests' },
        detail: `Too many requests. Try again in ${seconds} seconds.`,
      });
      expect(seconds).toBeGreaterThanOrEqual(1);
      expect(seconds).toBeLessThanOrEqual(60);
      expect(response.headers.get('ratelimit-remaining')).toBe('0');
    },
  );
});

describe('A request that does not arrive in time', () => {
  let app: TestApp;
  let caller: TestUser;
  beforeAll(async () => {
    const limits = { headersTimeout: 300, requestTimeout: 300, checkingInterval: 50 };
    app = await startApp({}, { limits });
    caller = await app.register();
  });
  afterAll(() => app[Symbol.asyncDispose]());

  test.concurrent.each(withBody)('is given up by $operationId', async (operation) => {
    const { url, method } = { ...exampleRequest(operation), ...operation };
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
    const answer = validateRaw(method, app.url + url, await connection.answer());
    expect(JSON.parse(answer.body)).toMatchObject({ status: 408, code: 'request_timeout' });
    expect(answer.headers.get('connection')).toBe('close');
    await connection.ended;
  });

  test.concurrent.each([
    ['its headers', 'GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ', 'a'],
    ['its body', head('PUT', '/api/profile/bio', { 'Content-Length': 9_999 }), ' '],
    [
      'its chunks',
      head('PUT', '/api/profile/bio', { 'Transfer-Encoding': 'chunked' }),
      '1\r\n \r\n',
    ],
  ])('is given up also while %s still trickle in', async (_, beginning, drop) => {
    using connection = await openRaw(app.url);
    const withToken = beginning.replace(
      'Host: localhost',
      `Host: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer ${caller.token}`,
    );
    await connection.write(withToken);
    const trickle = setInterval(() => connection.socket.write(drop), 20);
    try {
      const answer = await connection.answer();
      expect(answer?.status).toBe(408);
      await connection.ended;
    } finally {
      clearInterval(trickle);
    }
  });
});
