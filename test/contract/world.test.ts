import { afterAll, beforeAll, expect, test } from 'vitest';
import { operations } from '../../server/contract.ts';
import { existingIds } from '../../verification/preparation.ts';
import { openWorld, type World } from '../../verification/world.ts';
import { startApp, type TestApp } from '../support/app.ts';
import { exampleRequest, inputNamesOf } from '../support/requests.ts';

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
    const headers =
      operation.authentication === 'none'
        ? undefined
        : { authorization: `Bearer ${world.creator.token}` };
    const path = `${url}${url.includes('?') ? '&' : '?'}limit=1`;
    const response = await app.fetch(path, { ...init, ...(headers && { headers }) });
    expect(response.status).toBe(200);
    expect(await response.json()).toHaveLength(1);
    expect(response.headers.get('link'), 'link to a second item').not.toBeNull();
  },
);
