import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ProblemCode } from '../../generated/problem-codes.gen.ts';
import type { InvalidValue } from '../../generated/types.gen.ts';
import { type Mock, startMock } from '../../mock/server.ts';
import { type Operation, operations } from '../../server/contract.ts';
import { validatedFetch } from '../support/contract.ts';
import { exampleRequest } from '../support/requests.ts';

/**
 * The errors that the mock finds in a request. The server's other errors depend on data, on earlier requests or on
 * rules that a schema cannot express. Instead of them, the mock responds with success.
 */
const FOUND_BY_MOCK: readonly (ProblemCode | undefined)[] = [
  'invalid_request',
  'method_not_allowed',
  'not_found',
  'unauthenticated',
  'unsupported_media_type',
];

const options = { host: '127.0.0.1', port: 0 };
let mock: Mock;
/** The server, on sample data with the ids of the contract's examples. */
let server: Mock;
beforeAll(async () => {
  mock = await startMock({ ...options, isStateful: false });
  server = await startMock({ ...options, isStateful: true });
});
afterAll(async () => {
  await mock[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

interface Result {
  status: number;
  type: string | null;
  /** The code of a problem document. */
  code: ProblemCode | undefined;
  /** The invalid parts of the request. */
  pointers: string[];
}

async function send(url: string, init?: RequestInit): Promise<Result> {
  const response = await validatedFetch(url, init);
  const { code, errors = [] } = response.ok ? {} : await response.json();
  const pointers: string[] = errors.map(
    // The mock reports a missing avatar like any missing field.
    ({ in: place, pointer, name, code }: InvalidValue) =>
      `${place} ${pointer ?? name} ${code.replace('avatar_missing', 'missing')}`,
  );
  return {
    status: response.status,
    type: response.headers.get('content-type'),
    code: code === 'avatar_missing' ? 'invalid_request' : code,
    // For malformed JSON, only the mock points at the whole body.
    pointers: pointers.filter((pointer) => !pointer.startsWith('body  ')).sort(),
  };
}

type Request = [description: string, path: string, init: RequestInit];

/** Returns the example of an operation and requests with one mistake each, without a token. The example is the last. */
function requestsOf(operation: Operation): Request[] {
  const { url, init } = exampleRequest(operation);
  const { bodyType, isBodyRequired, path, parameters } = operation;
  const withBody = (body: BodyInit, type = 'application/json'): RequestInit => ({
    ...init,
    headers: body instanceof FormData ? {} : { 'content-type': type },
    body,
  });
  const bodies: [string, RequestInit][] = [
    ['malformed JSON', withBody('{"a":')],
    ['no fields', withBody('{}')],
    ['an unknown field', withBody('{"unknown":1}')],
    ['a list', withBody('[]')],
    ['text', withBody('text', 'text/plain')],
    ['a form of another field', withBody(formWith('unknown'))],
  ];
  if (isBodyRequired) bodies.push(['no body', { method: init.method }]);
  const requests: Request[] =
    bodyType === null ? [] : bodies.map(([name, each]) => [name, url, each]);
  if (path.includes('{')) requests.push(['a malformed id', path.replace(/\{\w+\}/, '~'), init]);
  if (parameters.some(({ name }) => name === 'limit')) {
    requests.push(['an invalid limit', `${url}${url.includes('?') ? '&' : '?'}limit=0`, init]);
  }
  if (url.includes('?')) requests.push(['no query', url.replace(/\?.*/, ''), init]);
  return [...requests, ['its example', url, init]];
}

function formWith(name: string): FormData {
  const form = new FormData();
  form.set(name, new Blob(['any']), 'any.png');
  return form;
}

describe('The mock responds like the server, or with success, to', () => {
  // Reads first, because writes change the data that the examples of others need.
  const isWrite = ({ method }: Operation) => method !== 'GET';
  const inOrder = operations.toSorted((a, b) => Number(isWrite(a)) - Number(isWrite(b)));
  test.each(inOrder.map((each) => [each.operationId, each] as const))(
    'correct and incorrect requests of %s',
    async (_, operation) => {
      if (isWrite(operation)) await fetch(`${server.url}/__reset`, { method: 'POST' });
      const successes = Object.keys(operation.responses).filter((status) => status < '300');
      const authorization = await signIn();
      for (const token of ['', 'Basic YTpi', authorization]) {
        for (const [description, path, init] of requestsOf(operation)) {
          const headers = new Headers(init.headers);
          if (token !== '') headers.set('authorization', token);
          const ofServer = await send(server.url + path, { ...init, headers });
          const ofMock = await send(mock.url + path, { ...init, headers });
          const isFound = ofServer.status < 400 || FOUND_BY_MOCK.includes(ofServer.code);
          if (isFound) expect.soft(ofMock, description).toEqual(ofServer);
          else expect.soft(successes, description).toContain(String(ofMock.status));
        }
      }
    },
  );

  test.each([
    ['GET', '/api/unknown'],
    ['DELETE', '/api/spaces'],
    ['GET', '/api/spaces/tag/50%'],
    ['GET', '//'],
  ])('%s %s', async (method, path) => {
    expect(await send(mock.url + path, { method })).toEqual(
      await send(server.url + path, { method }),
    );
  });

  test('a preflight request of a browser', async () => {
    const init = {
      method: 'OPTIONS',
      headers: {
        origin: 'https://app.example.org',
        'access-control-request-method': 'PUT',
        'access-control-request-headers': 'authorization,prefer',
      },
    };
    const headersOf = async (url: string) => {
      const { headers } = await fetch(`${url}/api/profile/me`, init);
      return [...headers].filter(([name]) => /^(access-control-|vary)/.test(name));
    };
    expect(await headersOf(mock.url)).toEqual(await headersOf(server.url));
  });
});

/** Returns an Authorization header for the server. */
async function signIn(): Promise<string> {
  const response = await fetch(`${server.url}/api/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: 'ada@example.com', password: 'correct horse battery' }),
  });
  return `Bearer ${(await response.json()).access_token}`;
}
