import { expect, test } from 'vitest';
import type { Result, Transaction } from '../../verification/dredd.ts';
import { operationOf } from '../../verification/exchange.ts';
import { findMissingOperations } from '../../verification/missing-operations.ts';
import { prepareServer } from '../../verification/server.ts';
import { verify } from '../../verification/verify.ts';
import { startApp } from '../support/app.ts';
import { startProxy } from './proxy.ts';

const notFound = (code: string) => JSON.stringify({ status: 404, code });

/** Returns results for getUser with responses of these statuses and bodies. */
function resultsWith(...responses: [number, string?][]): Result[] {
  return responses.map(([statusCode, body = '{}'], index) => {
    const real = { statusCode, headers: {}, body };
    return {
      transaction: { id: `getUser ${index}`, real } as unknown as Transaction,
      differences: {},
    };
  });
}

test.each([
  {
    reason: 'every response is a 404 of the router',
    responses: [[404, '<h1>Not Found</h1>'], [404]],
  },
  { reason: 'every 404 is about the path', responses: [[404, notFound('not_found')]] },
  { reason: 'every response is 405', responses: [[405], [405]] },
  {
    reason: 'every response but a 404 can precede routing',
    responses: [[401], [413], [415], [404]],
  },
  { reason: 'a response is 501', responses: [[400], [401], [501]] },
] as { reason: string; responses: [number, string?][] }[])(
  'an operation is missing if $reason',
  ({ responses }) => {
    expect([...findMissingOperations(resultsWith(...responses)).keys()]).toEqual(['getUser']);
  },
);

test.each([
  { reason: 'a response is not an error', responses: [[200], [404]] },
  { reason: 'a 404 names the resource', responses: [[404], [404, notFound('user_not_found')]] },
  { reason: 'it rejects malformed requests', responses: [[400], [404]] },
  { reason: 'every response is 401', responses: [[401], [401]] },
] as { reason: string; responses: [number, string?][] }[])(
  'an operation is not missing if $reason',
  ({ responses }) => {
    expect([...findMissingOperations(resultsWith(...responses)).keys()]).toEqual([]);
  },
);

test.each([
  ['GET', '/api/spaces/search?q=bread', 'searchSpaces'],
  ['GET', '/api/spaces/search1', 'getSpace'],
  ['DELETE', '/spaces-app/api/removals/s1/u1', 'undoRemoval'],
])('finds the operation of %s %s', (method, path, operationId) => {
  expect(operationOf({ method, url: `http://127.0.0.1:3000${path}` })).toBe(operationId);
});

test('a server without register and getProfile fails one check for each, and the checks that need an account do not run', async () => {
  await using app = await startApp();
  await using proxy = await startProxy(app.url, (exchange) => {
    if (!['register', 'getProfile'].includes(exchange.operationId ?? '')) return;
    exchange.status = 404;
    exchange.headers.set('content-type', 'text/html');
    exchange.body = '<h1>Not Found</h1>';
  });
  await using cleanup = new AsyncDisposableStack();
  const servers = await prepareServer(proxy.url, undefined, cleanup);
  const { checks, blocked } = await verify(servers, cleanup);
  const failed = checks.filter(({ causes }) => causes.length > 0);
  expect(failed.map(({ name, causes }) => [name, causes])).toEqual([
    ['getProfile', [{ text: 'Not implemented' }]],
    ['register', [{ text: 'Not implemented' }]],
  ]);
  expect(blocked.get('createSpace 201')).toBe('register');
  expect(
    blocked.get('searchSpaces: equal titles are first, then popular spaces, then new ones'),
  ).toBe('register');
  expect([...blocked.keys()].some((name) => name.startsWith('getProfile'))).toBe(false);
  const passed = checks.filter(({ causes }) => causes.length === 0).map(({ name }) => name);
  expect(passed).toEqual(expect.arrayContaining(['searchSpaces 400', 'createSpace 401']));
});
