import { METHODS, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, test } from 'vitest';
import { operations } from '../../server/contract.ts';
import type { TestUser } from '../support/client.ts';
import { head, type RawResponse, sendRaw } from '../support/raw.ts';
import { recordLog } from '../support/record-log.ts';
import { useApp } from '../support/use-app.ts';
import { problemOf } from './raw-problem.ts';

let caller: TestUser;
const { log, lines } = recordLog<{ reqId: string }>();
const app = useApp({ METRICS_TOKEN: 'sesame' }, { log });
beforeAll(async () => {
  caller = await app.register();
});

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

describe('Unsupported methods', () => {
  const paths = new Map(
    operations.map(({ path }) => [
      path.replace(/\{\w+\}/g, 'some-id'),
      operations.filter((each) => each.path === path).map(({ method }) => method),
    ]),
  );
  for (const page of [
    'healthz',
    'readyz',
    'metrics',
    'openapi.yaml',
    'openapi.json',
    'docs',
    'docs/',
    'docs/contract.json',
    'docs/js/scalar.js',
  ]) {
    paths.set(`/${page}`, ['GET']);
  }
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
    '/api/user',
    '/docs/x',
    '/metrics/',
    '/favicon.ico',
    '/openapi.yml',
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
        const problem = {
          status: 400,
          code: 'invalid_request',
          errors: [{ in: 'query', name: null }],
        };
        expect(problemOf(response)).toMatchObject(problem);
      }
    },
  );

  test('is logged like every request', async () => {
    const { request_id } = problemOf(await sendRaw(app.url, head('GET', '/%FF')));
    await expect
      .poll(() => lines.find(({ reqId }) => reqId === request_id))
      .toMatchObject({ status: 400, url: '/%FF' });
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
