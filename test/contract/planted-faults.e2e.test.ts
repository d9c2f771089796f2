import { beforeAll, describe, expect, test } from 'vitest';
import { prepareServer } from '../../verification/server.ts';
import { verify } from '../../verification/verify.ts';
import { createSpace } from '../support/spaces.ts';
import { useApp } from '../support/use-app.ts';
import { type ProxiedExchange, startProxy } from './proxy.ts';

// A proxy plants faults into the responses of a server that implements the contract. They do not affect each other, so
// the checks of the declared responses must find all of them in one run, and nothing else. Scenarios have the faults of
// `npm run faults`.

interface Fault {
  name: string;
  /** The responses to change, by operation and correct status. */
  responses: string[];
  change: (exchange: ProxiedExchange) => void;
  /** The checks that must fail, with the reason. */
  found: Record<string, string>;
}

const app = useApp();

const setStatus = (status: number) => (exchange: ProxiedExchange) => {
  exchange.status = status;
};
const replace = (pattern: RegExp, replacement: string) => (exchange: ProxiedExchange) => {
  exchange.body = exchange.body.replace(pattern, replacement);
};

const faults: Fault[] = [
  {
    name: 'a problem code that the contract declares for this status, but not for this error',
    responses: ['searchSpacesByTag 400'],
    change: replace(/"invalid_request"/, '"invalid_cursor"'),
    found: { 'searchSpacesByTag 400': 'Wrong code: "invalid_cursor" instead of "invalid_request"' },
  },
  {
    name: 'a problem code of another operation',
    responses: ['getUser 404'],
    change: replace(/"user_not_found"/, '"space_not_found"'),
    found: { 'getUser 404': 'Wrong code: "space_not_found" instead of "user_not_found"' },
  },
  {
    name: 'a missing required header',
    responses: ['createSpace 401'],
    change: ({ headers }) => headers.delete('www-authenticate'),
    found: { 'createSpace 401': 'Missing header: WWW-Authenticate' },
  },
  {
    name: 'a first page without a link to the next one',
    responses: ['listMessages 200'],
    change: ({ headers }) => headers.delete('link'),
    found: { 'listMessages 200': 'Missing header: Link' },
  },
  {
    name: 'another content type',
    responses: ['changeBio 401'],
    change: ({ headers }) => headers.set('content-type', 'application/json'),
    found: {
      'changeBio 401':
        'Wrong Content-Type: "application/json" instead of "application/problem+json"',
    },
  },
  {
    name: 'a missing field',
    responses: ['getUser 200'],
    change: replace(/"bio":"[^"]*",/, ''),
    found: { 'getUser 200': 'The field "bio" is missing' },
  },
  {
    name: 'a field of another type',
    responses: ['appreciateMessage 200'],
    change: replace(/"word_count":\d+/, '"word_count":"13"'),
    found: {
      'appreciateMessage 200': 'The field "word_count" has the type string instead of integer',
    },
  },
  {
    name: 'a value outside an enumeration',
    responses: ['createSpace 201'],
    change: replace(/"public"/, '"open"'),
    found: { 'createSpace 201': 'The field "visibility" has the undeclared value "open"' },
  },
  {
    name: 'a value of another format',
    responses: ['getProfile 200'],
    change: replace(/"updated_at":"[^"]*"/, '"updated_at":"yesterday"'),
    found: { 'getProfile 200': 'The field "updated_at" should match format "date-time"' },
  },
  {
    name: 'an undeclared field, such as the email address of another user',
    responses: ['searchSpacesByTag 200'],
    change: replace(/"creator":\{/g, '"creator":{"email":"ada@example.com",'),
    found: { 'searchSpacesByTag 200': 'The field "email" is not declared' },
  },
  {
    name: 'a body that is not JSON',
    responses: ['logout 200'],
    change: replace(/.*/, 'OK'),
    found: { 'logout 200': 'The body is not JSON' },
  },
  {
    name: 'a wrong status',
    responses: ['updateSpace 403'],
    change: setStatus(404),
    found: { 'updateSpace 403': 'Wrong status: 404' },
  },
  {
    name: 'an undeclared status',
    responses: ['joinSpace 200'],
    change: setStatus(202),
    found: { 'joinSpace 200': 'Wrong status: 202' },
  },
];

describe('Among faults of single responses, the contract check', () => {
  /** The causes of each failed check. */
  let failures: Map<string, string[]>;
  beforeAll(async () => {
    await using proxy = await startProxy(app.url, (exchange) => {
      const response = `${exchange.operationId} ${exchange.status}`;
      const planted = faults.filter(({ responses }) => responses.includes(response));
      for (const { change } of planted) change(exchange);
    });
    await using cleanup = new AsyncDisposableStack();
    const servers = await prepareServer(proxy.url, undefined, cleanup);
    const { checks } = await verify(servers, cleanup);
    // Scenarios find some of the faults, too.
    const failed = checks.filter(({ causes, rule }) => causes.length > 0 && rule === undefined);
    failures = new Map(failed.map(({ name, causes }) => [name, causes.map(({ text }) => text)]));
  });

  test.each(faults)('finds $name', ({ found }) => {
    for (const [check, cause] of Object.entries(found)) {
      expect(failures.get(check), check).toEqual([expect.stringContaining(cause)]);
    }
  });

  test('finds no other fault', () => {
    const expected = faults.flatMap(({ found }) => Object.keys(found));
    expect([...failures.keys()].sort()).toEqual(expected.sort());
  });

  test('leaves no accounts and spaces', async () => {
    const { db } = app.context.engine;
    expect(await db.selectFrom('users').select('username').execute()).toEqual([]);
    expect(await db.selectFrom('spaces').select('title').execute()).toEqual([]);
  });
});

test('The contract check finds no fault of a search among many spaces with the words of the examples', async () => {
  const user = await app.register();
  for (let i = 0; i < 10; i += 1) await createSpace(user, { title: 'What is sourdough bread?' });
  await using cleanup = new AsyncDisposableStack();
  const servers = await prepareServer(app.url, undefined, cleanup);
  const { checks } = await verify(
    servers,
    cleanup,
    (operationId) => operationId === 'searchSpaces',
  );
  expect(checks.map(({ name }) => name)).toContain('searchSpaces 200');
  expect(checks.filter(({ causes }) => causes.length > 0)).toEqual([]);
});
