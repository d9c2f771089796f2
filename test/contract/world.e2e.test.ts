import { afterAll, beforeAll, expect, test } from 'vitest';
import * as api from '../../generated/sdk.gen.ts';
import { operations } from '../../server/contract.ts';
import { existingIds, openWorld, type World } from '../../verification/world.ts';
import { startApp, type TestApp } from '../support/app.ts';
import { startHttpServer } from '../support/http-server.ts';
import { itemsOf } from '../support/pages.ts';
import { exampleRequest, inputNamesOf } from '../support/requests.ts';
import { startProxy } from './proxy.ts';

let app: TestApp;
let world: World;
beforeAll(async () => {
  app = await startApp();
  world = await openWorld(app.url);
});
afterAll(async () => {
  await world.close();
  await app[Symbol.asyncDispose]();
});

const lists = operations.filter((operation) => inputNamesOf(operation).includes('limit'));
test('the contract has operations that return a list', () => {
  expect(lists.map(({ operationId }) => operationId)).toContain('listMessages');
});

// The contract check requests pages of one item and expects a link to the next page.
test.each(lists)(
  'openWorld in verification/world.ts creates two items for $operationId',
  async (operation) => {
    const ids = Object.entries(existingIds).map(([name, idIn]) => [name, idIn(world)]);
    const { url, init } = exampleRequest(operation, Object.fromEntries(ids));
    // An existing account would keep the access tokens of programs, so they belong to another one.
    const { token } = operation.operationId === 'listTokens' ? world.other : world.creator;
    const headers =
      operation.authentication === 'none' ? undefined : { authorization: `Bearer ${token}` };
    const path = `${url}${url.includes('?') ? '&' : '?'}limit=1`;
    const response = await app.fetch(path, { ...init, ...(headers && { headers }) });
    expect(response.status).toBe(200);
    expect(itemsOf(await response.json())).toHaveLength(1);
    expect(response.headers.get('link'), 'link to a second item').not.toBeNull();
  },
);

// With an existing account, the contract check ends the sessions that it has opened, and must not end others.
test('openSession returns the session that it has opened, even if another client logs in at the same time', async () => {
  const { email, password } = await app.register();
  const tokens: string[] = [];
  await using proxy = await startProxy(app.url, async ({ path, body }) => {
    if (path !== '/api/auth/login') return;
    tokens.push(JSON.parse(body).access_token);
    await api.login({ client: app.client(), body: { email, password }, throwOnError: true });
  });
  const own = await openWorld(proxy.url, { email, password });
  const sessionId = await own.openSession();
  const client = app.client(tokens.at(-1));
  const { data } = await api.listSessions({ client, throwOnError: true });
  expect(data.items.find(({ is_current }) => is_current)?.session_id).toBe(sessionId);
  await own.close();
});

test('openWorld opens a connection for each request, because the server can close an idle one', async () => {
  const sockets: unknown[] = [];
  await using server = await startHttpServer((request, response) => {
    sockets.push(request.socket);
    response.writeHead(501).end();
  });
  await openWorld(server.url);
  expect(sockets.length).toBeGreaterThan(1);
  expect(new Set(sockets).size).toBe(sockets.length);
});
