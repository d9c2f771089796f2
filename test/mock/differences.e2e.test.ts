import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Mock, startMock } from '../../mock/server.ts';
import { type Operation, operations } from '../../server/contract.ts';
import { TIME_LIMITS } from '../../server/http/time-limits.ts';
import { type DeclaredResponse, declaredResponses } from '../../verification/declared-responses.ts';
import type { Transaction } from '../../verification/dredd.ts';
import { prepareWith } from '../../verification/preparation.ts';
import type { Servers } from '../../verification/world.ts';
import { startServers } from '../contract/servers.ts';
import { startApp } from '../support/app.ts';
import { avatarFile } from '../support/avatar.ts';
import { STATUSES_FOLDER, validateExchange } from '../support/contract.ts';
import { head, sendRaw } from '../support/raw.ts';
import { bodyExampleOf } from '../support/requests.ts';

const UNKNOWN_ID = 'The mock does not know which ids exist.';

/**
 * Why responses differ for the same request, by status, or by operation and status. `Prefer: code=…` returns each of
 * them.
 */
const DIFFERENCES: Readonly<Record<string, string>> = {
  401: 'The mock has no accounts and sessions. It accepts every well-formed token and every password.',
  403: 'The mock does not know what belongs to whom. It accepts every password.',
  'getSpace 404': UNKNOWN_ID,
  'updateSpace 404': UNKNOWN_ID,
  'renewInvitationCode 404': UNKNOWN_ID,
  'listParticipants 404': UNKNOWN_ID,
  'listRemovals 404': UNKNOWN_ID,
  'removeParticipant 404': UNKNOWN_ID,
  'undoRemoval 404': UNKNOWN_ID,
  'reportSpace 404': UNKNOWN_ID,
  'reportMessage 404': UNKNOWN_ID,
  'endSession 404': UNKNOWN_ID,
  'deleteSpace 404': UNKNOWN_ID,
  'joinSpace 404': UNKNOWN_ID,
  'leaveSpace 404': UNKNOWN_ID,
  'listMessages 404': UNKNOWN_ID,
  'sendMessage 404': UNKNOWN_ID,
  'deleteMessage 404': UNKNOWN_ID,
  'appreciateMessage 404': UNKNOWN_ID,
  'withdrawAppreciation 404': UNKNOWN_ID,
  'getUser 404': UNKNOWN_ID,
  409: 'The mock does not know which usernames and email addresses are taken, and who created a space.',
  'changeProfilePicture 422':
    'The mock does not decode avatars, because this requires an image library.',
  429: 'The mock does not count requests.',
  500: 'The mock has no database that could fail.',
  503: 'The mock has no database that could fail.',
};

function keysOf({ operation, status }: DeclaredResponse): [string, string] {
  return [`${operation.operationId} ${status}`, status];
}

/** Headers that are not compared. */
const IGNORED_HEADERS = [
  // Of the connection.
  'connection',
  'content-length',
  'date',
  'keep-alive',
  // Counters of requests. Those of the mock are examples.
  'ratelimit-limit',
  'ratelimit-remaining',
  'ratelimit-reset',
  // Instructions for browsers about documents, which have no effect on `fetch`. The examples have none.
  'content-security-policy',
  'cross-origin-opener-policy',
  'cross-origin-resource-policy',
  'origin-agent-cluster',
  'referrer-policy',
  'x-content-type-options',
  'x-dns-prefetch-control',
  'x-download-options',
  'x-frame-options',
  'x-permitted-cross-domain-policies',
  'x-xss-protection',
];

/** Headers whose values depend on data. */
const DATA_HEADERS = ['answered-query', 'link', 'retry-after', 'x-request-id'];

const OPTIONS = { host: '127.0.0.1', port: 0, isStateful: false };

let cleanup: AsyncDisposableStack;
let mock: Mock;
let servers: Servers;
let prepare: (transaction: Transaction) => Promise<void>;
beforeAll(async () => {
  // Responses of the mock must not count as reached.
  vi.stubEnv(STATUSES_FOLDER, '');
  cleanup = new AsyncDisposableStack();
  mock = cleanup.use(await startMock(OPTIONS));
  servers = await startServers(cleanup);
  prepare = prepareWith(servers, () => {});
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await cleanup.disposeAsync();
});

interface Result {
  status: number;
  type: string | null;
  /** The code of a problem document. */
  code: string | undefined;
  headers: Record<string, string>;
}

/** Sends a request and validates the response against the closed contract. */
async function send(url: string, path: string, init: RequestInit): Promise<Result> {
  const response = await fetch(url + path, init);
  const { status, headers } = response;
  const body = await response.text();
  const method = init.method ?? 'GET';
  if (method !== 'OPTIONS') {
    validateExchange({
      method,
      url: url + path,
      requestType: new Headers(init.headers).get('content-type') ?? undefined,
      requestBody: typeof init.body === 'string' && init.body !== '' ? init.body : undefined,
      status,
      headers,
      body,
    });
  }
  return {
    status,
    type: headers.get('content-type'),
    code: status < 400 || method === 'HEAD' ? undefined : JSON.parse(body).code,
    headers: Object.fromEntries(
      [...headers]
        .filter(([name]) => !IGNORED_HEADERS.includes(name))
        .map(([name, value]) => [name, DATA_HEADERS.includes(name) ? '(present)' : value]),
    ),
  };
}

describe('For each response in the contract', () => {
  test('DIFFERENCES names only responses of the contract', () => {
    const keys = new Set(declaredResponses.flatMap(keysOf));
    expect(Object.keys(DIFFERENCES).filter((key) => !keys.has(key))).toEqual([]);
  });

  test.each(declaredResponses.map((each) => [each.id, each] as const))(
    '%s: the mock responds like the server, or is listed in DIFFERENCES',
    async (_, declared) => {
      const transaction = createTransaction(declared);
      await prepare(transaction);
      const { host, port, fullPath, request } = transaction;
      const { method, headers, body } = request;
      const init = { method, headers, ...(body.length > 0 && { body }) };
      const selection = { ...headers, Prefer: `code=${declared.status}` };
      const selected = await send(mock.url, fullPath, { ...init, headers: selection });
      expect(selected.status).toBe(Number(declared.status));
      // The time limits are many seconds. A test below compares the responses with shorter ones.
      if (declared.status === '408') return;

      const ofServer = await send(`http://${host}:${port}`, fullPath, init);
      expect(ofServer.status).toBe(Number(declared.status));
      // The example may have another code of the same status.
      const { code, ...expected } = ofServer;
      expect(selected).toMatchObject(expected);
      const ofMock = await send(mock.url, fullPath, init);
      const difference = keysOf(declared).find((key) => Object.hasOwn(DIFFERENCES, key));
      if (difference === undefined) expect(ofMock).toEqual(ofServer);
      else expect(ofMock, `Remove ${difference} from DIFFERENCES`).not.toEqual(ofServer);
    },
  );
});

/** Builds the transaction that Dredd would. */
function createTransaction(declared: DeclaredResponse): Transaction {
  const { operationId } = declared.operation;
  const operation = operations.find((each) => each.operationId === operationId) as Operation;
  const { hostname, port } = new URL(servers.world.url);
  const query = new URLSearchParams();
  let fullPath = operation.path;
  for (const { name, in: location, example } of operation.parameters) {
    if (location === 'path') fullPath = fullPath.replace(`{${name}}`, example);
    else if (example !== undefined) query.set(name, example);
  }
  if (query.size > 0) fullPath += `?${query}`;
  const example = bodyExampleOf(operation);
  return {
    id: '',
    host: hostname,
    port,
    fullPath,
    request: {
      method: operation.method,
      headers: operation.bodyType === null ? {} : { 'Content-Type': operation.bodyType },
      body: example === undefined ? '' : JSON.stringify(example),
    },
    expected: { statusCode: declared.status, headers: { 'Content-Type': declared.type } },
    origin: { resourceName: operation.path },
    skip: false,
  };
}

describe('The mock responds like the server to', async () => {
  const sendToBoth = async (path: string, init: RequestInit = {}) => {
    const { space, creator } = servers.world;
    const headers = { authorization: `Bearer ${creator.token}`, ...init.headers };
    const pathWithId = path.replace('{space_id}', space.space_id);
    const urls = [servers.world.url, mock.url];
    const [ofServer, ofMock] = await Promise.all(
      urls.map((url) => send(url, pathWithId, { ...init, headers })),
    );
    expect(ofMock).toEqual(ofServer);
    return ofServer?.status;
  };

  test.each<[string, string, number]>([
    ['GET', '/api/unknown', 404],
    ['POST', '/', 404],
    ['GET', '/api/spaces/search/', 404],
    ['GET', '/api/users/ada/', 404],
    ['GET', '/api/spaces/tag/', 404],
    ['GET', '/api/spaces/', 400],
    ['GET', `/api/spaces/${'a'.repeat(65)}`, 400],
    ['GET', '/api/users/~', 400],
    ['DELETE', '/api/spaces/search', 405],
    ['GET', '/api/spaces', 405],
    ['PUT', '/api/spaces/{space_id}', 405],
    ['PROPFIND', '/api/profile/me', 405],
    ['HEAD', '/api/profile/me', 200],
    ['HEAD', '/api/spaces/search?q=sourdough&as_typed=true&limit=1', 200],
    ['HEAD', '/api/spaces/search', 400],
    ['OPTIONS', '/api/profile/me', 204],
    ['OPTIONS', '/api/unknown', 204],
    ['PUT', '/avatars/default.webp', 405],
    ['DELETE', '/avatars/unknown.webp', 405],
  ])('%s %s', async (method, path, status) => {
    expect(await sendToBoth(path, { method })).toBe(status);
  });

  test('a preflight request of a browser', async () => {
    const headers = {
      origin: 'https://app.example.org',
      'access-control-request-method': 'PUT',
      'access-control-request-headers': 'authorization,prefer',
    };
    expect(await sendToBoth('/api/profile/me', { method: 'OPTIONS', headers })).toBe(204);
  });

  test('a request with credentials, which browsers reject on both', async () => {
    const headers = { origin: 'https://app.example.org', cookie: 'a=b' };
    expect(await sendToBoth('/api/profile/me', { headers })).toBe(200);
  });

  test.each<[string, number]>([
    ['', 400],
    ['?q=', 200],
    ['?q=%FF', 400],
    ['?q=%E0%A4%A', 400],
    [`?q=${'a'.repeat(201)}`, 400],
    ['?q=a&q=b', 400],
    ['?q=sourdough&unknown=1&as_typed=true&limit=1', 200],
    ['?q=a&as_typed=perhaps', 400],
    ['?q=a&as_typed=', 400],
    ['?q=a&as_typed=1', 400],
    ['?q=a&limit=0', 400],
    ['?q=a&limit=101', 400],
    ['?q=a&limit=1.5', 400],
    ['?q=a&limit=ten', 400],
    ['?q=a&limit=', 400],
    ['?q=a&limit=1&limit=2', 400],
    ['?q=a&limit=1e400', 400],
    ['?q=a&limit=-1', 400],
    ['?q=a&limit=0x5', 400],
    ['?q=a&limit=1e1', 400],
    ['?q=a&limit=+5', 400],
    ['?q=a&limit=05', 400],
    ['?Q=a', 400],
    ['?q=%20+', 200],
    ['?q=a&cursor=!', 400],
    ['?q=a&cursor=', 400],
    ['?q=a&cursor=a&cursor=b', 400],
    ['?q=a&cursor=unknown', 400],
  ])('a search with the query string "%s"', async (query, status) => {
    expect(await sendToBoth(`/api/spaces/search${query}`)).toBe(status);
  });

  test.each(['', 'Bearer', 'Bearer ', 'Basic YTpi', 'Bearer a b', 'Bearer "a"', 'bearer:a'])(
    'the Authorization header "%s"',
    async (authorization) => {
      const headers = { authorization };
      expect(await sendToBoth('/api/profile/me', { headers })).toBe(401);
      expect(await sendToBoth('/api/spaces/{space_id}', { headers })).toBe(401);
      expect(await sendToBoth('/api/spaces/search', { headers })).toBe(400);
      const invalidBody = { method: 'PUT', headers, body: '{' };
      expect(await sendToBoth('/api/profile/bio', invalidBody)).toBe(401);
      expect(await sendToBoth('/api/messages?space_id=%FF', { headers })).toBe(400);
    },
  );

  const json = (body: BodyInit, type = 'application/json'): RequestInit => ({
    headers: { 'content-type': type },
    body,
  });

  test.each<[string, RequestInit, number]>([
    ['no content', {}, 400],
    ['no content and a type', { headers: { 'content-type': 'application/json' } }, 400],
    ['bytes without a type', { body: new Uint8Array(3) }, 415],
    ['text', json('{"bio":"a"}', 'text/plain'), 415],
    ['a form', { body: new FormData() }, 415],
    ['UTF-16', json('{"bio":"a"}', 'application/json; charset=utf-16'), 415],
    [
      'a compressed body',
      { headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' }, body: '{}' },
      415,
    ],
    ['UTF-8', json('{"bio":"ä"}', 'application/json; charset="UTF-8"'), 200],
    ['malformed JSON', json('{"bio":'), 400],
    ['white space', json(' '), 400],
    ['invalid UTF-8', json(new Uint8Array([0x7b, 0xff, 0x7d])), 400],
    ['null', json('null'), 400],
    ['a list', json('[{"bio":"a"}]'), 400],
    ['a text', json('"a"'), 400],
    ['an unknown field', json('{"bio":"a","x":1}'), 400],
    ['no field', json('{}'), 400],
    ['another type', json('{"bio":1}'), 400],
    ['a NUL character', json('{"bio":"\\u0000"}'), 400],
    ['an unpaired surrogate', json('{"bio":"\\ud800"}'), 400],
    ['the key __proto__', json('{"bio":"a","__proto__":{}}'), 400],
    ['a control character', json('{"bio":"\\u0007"}'), 400],
    ['a long text', json(JSON.stringify({ bio: 'a'.repeat(2001) })), 400],
    ['32,768 bytes', json(`{"bio":"a"}${' '.repeat(32_757)}`), 200],
    ['32,769 bytes', json(`{"bio":"a"}${' '.repeat(32_758)}`), 413],
  ])('a body with %s', async (_, init, status) => {
    expect(await sendToBoth('/api/profile/bio', { method: 'PUT', ...init })).toBe(status);
  });

  test.each<[string, string, string, number]>([
    ['PUT', '/api/profile/username', '{"username":"a!"}', 400],
    ['PUT', '/api/profile/username', '{"username":"a"}', 400],
    ['PUT', '/api/profile/username', '{"username":"a!","x":1}', 400],
    ['PUT', '/api/profile/password', '{"currentPassword":"","newPassword":"1234567"}', 400],
    ['POST', '/api/auth/register', '{"username":"grace"}', 400],
    [
      'POST',
      '/api/auth/register',
      '{"username":"grace!","email":"g@example.com","password":"correct horse battery"}',
      400,
    ],
    [
      'POST',
      '/api/auth/register',
      '{"username":"grace","email":"g","password":"correct horse battery"}',
      400,
    ],
    ['POST', '/api/auth/login', '{"email":"@","password":"a"}', 400],
    ['PUT', '/api/profile/username', '{"username":"p\\u0430ypal"}', 400],
    ['PUT', '/api/profile/username', '{"username":"Admin"}', 409],
    ['PUT', '/api/profile/bio', JSON.stringify({ bio: 'ä'.repeat(501) }), 400],
    ['PUT', '/api/profile/password', '{"currentPassword":"a","newPassword":"password1"}', 400],
    [
      'POST',
      '/api/auth/register',
      '{"username":"grace","email":"g@example.com","password":"password1"}',
      400,
    ],
    [
      'POST',
      '/api/auth/register',
      '{"username":"grace","email":"g.hopper@example.com","password":"g.hopper"}',
      400,
    ],
    [
      'POST',
      '/api/auth/register',
      '{"username":"moderator","email":"g@example.com","password":"correct horse battery"}',
      409,
    ],
    ['POST', '/api/auth/logout?everywhere=perhaps', '', 400],
    ['POST', '/api/spaces', '{"title":" ","description":"","visibility":"public","tags":[]}', 400],
    [
      'POST',
      '/api/spaces',
      '{"title":"a","description":"","visibility":"secret","tags":[""]}',
      400,
    ],
    [
      'POST',
      '/api/spaces',
      `{"title":"a","description":"","visibility":"public","tags":[${'"",'.repeat(30)}"#"]}`,
      400,
    ],
    ['PATCH', '/api/spaces/{space_id}', '{}', 400],
    ['PATCH', '/api/spaces/{space_id}', '{"title":"\\u0007"}', 400],
    ['PATCH', '/api/spaces/{space_id}', '{"title":"a\\nb"}', 400],
    ['PATCH', '/api/spaces/{space_id}', '{"title":"\\u200b"}', 400],
    ['PATCH', '/api/spaces/{space_id}', '{"description":"a\\tb"}', 400],
    [
      'POST',
      '/api/spaces',
      '{"title":"a\\nb","description":"","visibility":"public","tags":[]}',
      400,
    ],
    ['POST', '/api/messages', '{"space_id":"unknown","text":"\\u200b"}', 400],
    ['PUT', '/api/reports/spaces/{space_id}', '{"reason":"\\u00ad"}', 400],
    ['PUT', '/api/reports/messages/unknown', '{"reason":"\\u200b"}', 400],
    ['POST', '/api/messages', '{"space_id":"~","text":" "}', 400],
    ['PUT', '/api/participations/{space_id}', '', 200],
    ['PUT', '/api/participations/{space_id}', 'null', 200],
    ['PUT', '/api/participations/{space_id}', '{}', 200],
    ['PUT', '/api/participations/{space_id}', '{"invitation_code":null}', 200],
    ['PUT', '/api/participations/{space_id}', '{"invitation_code":""}', 400],
    ['PUT', '/api/participations/{space_id}', '{', 400],
    ['DELETE', '/api/profile/picture', '{', 200],
  ])('%s %s with the body %s', async (method, path, body, status) => {
    const init = { method, ...(body !== '' && json(body)) };
    expect(await sendToBoth(path, init)).toBe(status);
  });

  const form = (...parts: [name: string, content: string | Blob, file?: string][]): RequestInit => {
    const body = new FormData();
    for (const [name, content, file] of parts) {
      if (content instanceof Blob) body.append(name, content, file);
      else body.append(name, content);
    }
    return { body };
  };
  const raw = (body: string, type = 'multipart/form-data; boundary=x'): RequestInit => ({
    headers: { 'content-type': type },
    body: Buffer.from(body, 'latin1'),
  });
  const part = (disposition: string, content: string) =>
    `--x\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n${content}\r\n--x--\r\n`;
  const png = await avatarFile();
  const pngText = Buffer.from(await png.bytes()).toString('latin1');

  test.each<[string, RequestInit, number]>([
    ['an avatar', form(['avatar', png, 'a.png']), 200],
    [
      'an avatar declared as text',
      form(['avatar', png.slice(0, png.size, 'text/plain'), 'a']),
      200,
    ],
    ['an avatar without a file name', raw(part('name="avatar"', pngText)), 200],
    ['another name', form(['picture', png, 'a.png']), 400],
    ['a text', form(['avatar', 'text']), 400],
    ['two avatars', form(['avatar', png, 'a.png'], ['avatar', png, 'b.png']), 400],
    ['an avatar and a field', form(['avatar', png, 'a.png'], ['x', 'y']), 400],
    ['an empty file', form(['avatar', new Blob([]), 'a.png']), 400],
    ['no part', form(), 400],
    ['nothing', {}, 400],
    ['a text file', form(['avatar', new Blob(['This is not an image.']), 'a.png']), 415],
    ['an SVG file', form(['avatar', new Blob(['<svg/>']), 'a.svg']), 415],
    ['5,242,881 bytes', form(['avatar', new Blob([new Uint8Array(5_242_881)]), 'a']), 413],
    ['a form of 6,000,000 bytes', raw(part('name="avatar"', 'x'.repeat(6_000_000))), 413],
    ['a form without an end', raw(part('name="avatar"; filename="a"', 'x').slice(0, -8)), 400],
    [
      'a form with another boundary',
      raw(part('name="avatar"; filename="a"', 'x').replaceAll('--x', '--y')),
      400,
    ],
    [
      'a form without a boundary',
      raw(part('name="avatar"; filename="a"', 'x'), 'multipart/form-data'),
      400,
    ],
    ['bytes that are not a form', raw('This is not a form.'), 400],
    ['JSON', json('{}'), 415],
  ])('an upload of %s', async (_, init, status) => {
    expect(await sendToBoth('/api/profile/picture', { method: 'PUT', ...init })).toBe(status);
  });

  test('a body of unknown length that is too large', async () => {
    const stream = (url: string) =>
      send(url, '/api/profile/bio', {
        method: 'PUT',
        headers: {
          authorization: `Bearer ${servers.world.creator.token}`,
          'content-type': 'application/json',
        },
        body: new Blob([' '.repeat(40_000)]).stream(),
        duplex: 'half',
      } as RequestInit);
    const ofServer = await stream(servers.world.url);
    expect(ofServer).toMatchObject({ status: 413, code: 'body_too_large' });
    expect(await stream(mock.url)).toEqual(ofServer);
  });

  test.each<[string, string, number]>([
    ['malformed HTTP', 'nonsense\r\n\r\n', 400],
    ['an unsupported expectation', head('GET', '/api/profile/me', { Expect: 'x' }), 417],
    ['too large headers', head('GET', '/api/profile/me', { X: 'x'.repeat(17_000) }), 431],
  ])('%s', async (_, bytes, status) => {
    const [ofServer, ofMock] = await Promise.all(
      [servers.world.url, mock.url].map((url) => sendRaw(url, bytes)),
    );
    expect(ofServer?.status).toBe(status);
    expect(ofMock?.status).toBe(status);
    expect(withoutIds(ofMock?.body)).toEqual(withoutIds(ofServer?.body));
    expect(ofMock?.headers.get('content-type')).toBe(ofServer?.headers.get('content-type'));
  });

  // HTTP clients that do not parse URLs like browsers send these paths unchanged.
  test.each(['a\\b', '..', '.', '%2e%2E', '<"a">'])(
    'a search for the tag in the path: %s',
    async (tag) => {
      const bytes = head('GET', `/api/spaces/tag/${tag}?limit=1`, { connection: 'close' });
      const [ofServer, ofMock] = await Promise.all(
        [servers.world.url, mock.url].map((url) => sendRaw(url, bytes)),
      );
      expect(ofServer?.status).toBe(200);
      expect(ofMock?.status).toBe(200);
      const path = `/api/spaces/tag/${encodeURIComponent(decodeURIComponent(tag))}`;
      expect(ofMock?.headers.get('link')).toContain(`<${path}?`);
    },
  );

  test('a path that is not valid UTF-8', async () => {
    const urls = [servers.world.url, mock.url];
    const [ofServer, ofMock] = await Promise.all(
      urls.map((url) => send(url, '/api/users/%FF', {})),
    );
    expect(ofServer).toMatchObject({ status: 400, code: 'invalid_request' });
    expect(ofMock).toEqual(ofServer);
  });

  test('a request that does not arrive in time', async () => {
    const limits = { ...TIME_LIMITS, headersTimeoutMs: 200, requestTimeoutMs: 200 };
    const shortLimits = { ...limits, connectionCheckIntervalMs: 50 };
    await using app = await startApp({}, { limits: shortLimits });
    await using slowMock = await startMock(OPTIONS, shortLimits);
    const bytes = head('POST', '/api/auth/login', {
      'Content-Type': 'application/json',
      'Content-Length': 100,
    });
    const [ofServer, ofMock] = await Promise.all(
      [app.url, slowMock.url].map((url) => sendRaw(url, bytes)),
    );
    expect(ofServer?.status).toBe(408);
    expect(ofMock?.status).toBe(408);
    expect(ofServer?.headers.get('access-control-allow-origin')).toBe('*');
    expect(ofMock?.headers.get('access-control-allow-origin')).toBe('*');
    expect(withoutIds(ofMock?.body)).toEqual(withoutIds(ofServer?.body));
  });
});

function withoutIds(body = ''): object {
  return { ...JSON.parse(body), request_id: '' };
}
