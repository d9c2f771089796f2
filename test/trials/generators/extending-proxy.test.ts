import { expect, test } from 'vitest';
import { startHttpServer } from '../../support/http-server.ts';
import { ADDED_VALUE, startExtendingProxy } from './extending-proxy.ts';

test('adds an unknown field to every object in a JSON response, and counts the objects', async () => {
  await using server = await startHttpServer((_, response) => {
    response.setHeader('content-type', 'application/json').end('[{"a":{"b":[1]}},{}]');
  });
  await using proxy = await startExtendingProxy(server.url);
  const added_later = { values: [1, 'two', null], isNew: true };
  expect(await (await fetch(proxy.url)).json()).toEqual([
    { a: { b: [1], added_later }, added_later },
    { added_later },
  ]);
  expect(proxy.extended).toEqual(new Map([['application/json', 3]]));
});

test('replaces the values of open enums', async () => {
  const session = { user_id: 'a', access_token: 'b', token_type: 'Bearer', expires_in: 1 };
  await using server = await startHttpServer((_, response) => {
    response.setHeader('content-type', 'application/json').end(JSON.stringify(session));
  });
  await using proxy = await startExtendingProxy(server.url);
  const changed = { ...session, token_type: ADDED_VALUE };
  expect(await (await fetch(proxy.url)).json()).toMatchObject(changed);
});

test('responds with 502 if the server disconnects during its response', async () => {
  await using server = await startHttpServer((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 });
    response.write('{', () => response.destroy());
  });
  await using proxy = await startExtendingProxy(server.url);
  expect((await fetch(proxy.url)).status).toBe(502);
});
