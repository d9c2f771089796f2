import { beforeAll, describe, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import { operations } from '../../server/contract.ts';
import { startApp } from '../support/app.ts';
import type { TestUser } from '../support/client.ts';
import { head, sendRaw } from '../support/raw.ts';
import { exampleRequest } from '../support/requests.ts';
import { createSpace } from '../support/spaces.ts';
import { useApp } from '../support/use-app.ts';

const app = useApp();
let alice: TestUser;
beforeAll(async () => {
  alice = await app.register('alice');
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
        'ETag',
        'Link',
        'Retry-After',
        'WWW-Authenticate',
        'RateLimit-Limit',
        'RateLimit-Policy',
        'RateLimit-Remaining',
        'RateLimit-Reset',
        'X-Request-Id',
      ]) {
        expect(exposed).toContain(name);
      }
    },
  );

  test.each([
    [400, 'that is not HTTP\r\n\r\n'],
    [431, head('GET', `/api/spaces/search?q=${'x'.repeat(16_384)}`)],
  ])('is readable for pages of any origin: %i of a malformed request', async (status, bytes) => {
    const response = await sendRaw(app.url, bytes);
    expect(response?.status).toBe(status);
    expect(response?.headers.get('access-control-allow-origin')).toBe('*');
  });

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
    if (path === '/docs') {
      expect(policy).toMatch(/^default-src 'self';/);
      expect(policy?.replace("style-src-attr 'unsafe-inline'", '')).not.toMatch(
        /unsafe|\*|upgrade/,
      );
    } else expect(policy).toBe("default-src 'none';frame-ancestors 'none'");
  });

  test.each(samples.filter(([status, path]) => status >= 400 || /healthz|search/.test(path)))(
    'has the content type of the contract, and Cache-Control only for errors: %i of %s',
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
    const declared = operation.parameters.filter((each) => each.in === 'header');
    const names = declared.map(({ name }) => name.toLowerCase());
    const requestedHeaders = ['authorization', 'content-type', ...names].join(',');
    const response = await fetch(app.url + exampleRequest(operation).url, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://app.example',
        'access-control-request-method': operation.method,
        'access-control-request-headers': requestedHeaders,
      },
    });
    expect(response.status).toBe(204);
    expect(await response.text()).toBe('');
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    expect(response.headers.get('access-control-allow-methods')?.split(', ')).toContain(
      operation.method,
    );
    expect(response.headers.get('access-control-allow-headers')).toBe(requestedHeaders);
    expect(Number(response.headers.get('access-control-max-age'))).toBeGreaterThan(0);
  });
});

test('Only pages of the origins in CORS_ORIGINS can read responses', async () => {
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

describe('Cache-Control', () => {
  const cacheControl = (response: Response | undefined) => response?.headers.get('cache-control');

  test('is no-store for responses with an access token', async () => {
    const client = app.client();
    const credentials = { email: 'bob@example.com', password: 'correct horse battery' };
    const registered = await api.register({ client, body: { username: 'bob', ...credentials } });
    expect(registered.response?.status).toBe(201);
    expect(cacheControl(registered.response)).toBe('no-store');
    const loggedIn = await api.login({ client, body: credentials });
    expect(loggedIn.response?.status).toBe(200);
    expect(cacheControl(loggedIn.response)).toBe('no-store');
  });

  test('is no-store for responses that only the caller may read', async () => {
    const { client } = alice;
    expect(cacheControl((await api.getProfile({ client })).response)).toBe('no-store');
    expect(cacheControl((await api.listParticipations({ client })).response)).toBe('no-store');
    const path = await createSpace(alice, { visibility: 'private' });
    expect(cacheControl((await api.getSpace({ client, path })).response)).toBe('no-store');
  });
});
