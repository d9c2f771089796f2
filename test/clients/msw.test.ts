import { getResponse, HttpResponse } from 'msw';
import { setupServer } from 'msw/node';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import {
  ApiError,
  createClient,
  createConfig,
  getSpace,
  listMessages,
  listParticipations,
  pages,
  searchSpaces,
  sendMessage,
} from '../../client/index.ts';
import { fixture, handlers, http } from '../../client/msw.ts';
import { examples } from '../../generated/examples.gen.ts';
import * as zod from '../../generated/zod.gen.ts';
import { type Operation, operations } from '../../server/contract.ts';
import { exampleRequest } from '../support/requests.ts';

const baseUrl = 'https://spaces.example.org/v1';
const client = createClient(createConfig({ baseUrl }));
const server = setupServer(...handlers);
beforeAll(() => server.listen({ onUnhandledFrame: 'error' }));
afterEach(() => server.resetHandlers());
afterAll(() => server.close());

test.each(operations)(
  '$operationId responds with the example of the contract',
  async (operation) => {
    const { url, init } = exampleRequest(operation);
    const response = await fetch(baseUrl + url, init);
    const [success] = successesOf(operation);
    expect(response.status).toBe(success?.status);
    expect(await response.json()).toEqual(success?.body);
  },
);

const problems = operations.flatMap(({ operationId, responses }) =>
  Object.entries(responses).flatMap(([status, { 'x-problem-codes': codes = [] }]) =>
    codes.map((code) => [operationId, Number(status), code]),
  ),
);
test('http.problem simulates each documented error', async () => {
  for (const [operationId, status, code] of problems) {
    const problem = http.problem(
      operationId as 'getProfile',
      status as 401,
      code as 'unauthenticated',
    );
    const operation = operations.find((each) => each.operationId === operationId);
    const { url, init } = exampleRequest(operation ?? expect.fail());
    const response = await getResponse([problem], new Request(baseUrl + url, init));
    expect(await response?.json()).toMatchObject({ status, code });
    expect(response?.status).toBe(status);
    if (status === 429) expect(response?.headers.get('Retry-After')).toBe('12');
  }
});

test('http.problem rejects errors that are not documented', () => {
  // @ts-expect-error the operation has no such status
  expect(() => http.problem('getProfile', 409)).toThrow(TypeError);
  // @ts-expect-error the operation has no such code
  expect(() => http.problem('getProfile', 401, 'username_taken')).toThrow(TypeError);
});

test('http.respond replaces a response', async () => {
  const { items, ...page } = fixture('listMessages');
  const [message] = items;
  server.use(http.respond('listMessages', { ...page, items: [], next_cursor: null }));
  const empty = await listMessages({ client, query: { space_id: 's' }, throwOnError: true });
  expect(empty.data.items).toEqual([]);

  server.use(
    http.respond('sendMessage', ({ body }) => ({ ...fixture('sendMessage'), text: body.text })),
    http.respond('getSpace', ({ path }) => ({ ...fixture('getSpace'), space_id: path.space_id })),
    // @ts-expect-error the body lacks fields
    http.respond('getUser', { username: 'ada' }),
  );
  const sent = await sendMessage({ client, body: { space_id: 's', text: 'Hello' } });
  expect(sent.response?.status).toBe(201);
  expect(sent.data?.text).toBe('Hello');
  const space = await getSpace({ client, path: { space_id: 'a%b' } });
  expect(space.data?.space_id).toBe('a%b');
  expect(fixture('listMessages').items[0]).toEqual(message);
});

test('a handler of one operation leaves the paths of others to them', async () => {
  server.use(http.problem('getSpace', 404));
  const { data } = await searchSpaces({ client, query: { q: 'tea' } });
  expect(data).toEqual(fixture('searchSpaces'));
});

test('http.respond simulates a failed network', async () => {
  server.use(http.respond('searchSpaces', () => HttpResponse.error()));
  const { error } = await searchSpaces({ client, query: { q: 'tea' } });
  expect(error).toBeInstanceOf(ApiError);
  expect(error?.status).toBeNull();
});

test('every list has two pages with different items', async () => {
  const ids = (items: { message_id: string }[]) => items.map(({ message_id }) => message_id);
  const found: string[] = [];
  const all = pages((cursor) => listMessages({ client, query: { space_id: 's', cursor } }));
  for await (const items of all) found.push(...ids(items));
  expect(found).toEqual([
    ...ids(fixture('listMessages').items),
    ...ids(fixture('listMessages', 'last').items),
  ]);
  expect(new Set(found).size).toBe(4);
});

test('nothing changes in a list that is followed', async () => {
  const query = { after: 'b8Rk' };
  const { data } = await listParticipations({ client, query, throwOnError: true });
  expect(data).toMatchObject({ items: [], left_space_ids: [], newer_cursor: 'b8Rk' });
});

test('fixture returns one of several examples', () => {
  expect(fixture('getSpace', 'participant')).toMatchObject({ visibility: 'private' });
  expect(fixture('getSpace')).toEqual(fixture('getSpace', 'creator'));
  // @ts-expect-error the operation has no such example
  expect(() => fixture('getSpace', 'last')).toThrow('getSpace has no example last.');
});

test.each(operations)('the Zod schemas accept the examples of $operationId', (operation) => {
  const name = `z${operation.operationId[0]?.toUpperCase()}${operation.operationId.slice(1)}`;
  const schemas: Record<string, { parse(value: unknown): unknown }> = zod;
  for (const { body } of successesOf(operation)) {
    expect(schemas[`${name}Response`]?.parse(body)).toEqual(body);
  }
  const { example } = operation.requestBody?.content['application/json'] ?? {};
  if (example) expect(schemas[`${name}Body`]?.parse(example)).toEqual(example);
});

function successesOf({ operationId }: Operation) {
  return Object.values(examples[operationId as keyof typeof examples].successes);
}
