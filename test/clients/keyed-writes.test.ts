import { MutationObserver, QueryClient } from '@tanstack/react-query';
import { beforeAll, expect, test } from 'vitest';
import {
  createClient,
  createConfig,
  createSpace,
  renewInvitationCode,
  sendMessage,
  updateSpace,
} from '../../client/index.ts';
import { createSpaceMutation } from '../../client/tanstack-react-query.ts';
import * as api from '../../generated/sdk.gen.ts';
import type { TestUser } from '../support/client.ts';
import { listParticipations, spaceCreation } from '../support/spaces.ts';
import { useApp } from '../support/use-app.ts';

const app = useApp();
let user: TestUser;
beforeAll(async () => {
  user = await app.register();
});

/** Returns a client of `user` that sends each request, but does not receive the first responses. */
function clientThatLoses(responses: number, requests: Request[], lose: Lose = breakConnection) {
  return createClient(
    createConfig({
      baseUrl: app.url,
      auth: user.token,
      async fetch(input) {
        requests.push(input as Request);
        const response = await fetch(input);
        return requests.length > responses ? response : lose(response);
      },
    }),
  );
}

type Lose = (response: Response) => Response;

const breakConnection: Lose = () => {
  throw new TypeError('fetch failed');
};

const breakBody: Lose = ({ status, headers }) => {
  const body = new ReadableStream({ start: (stream) => stream.error(new TypeError('terminated')) });
  return new Response(body, { status, headers });
};

const keysOf = (requests: Request[]) =>
  requests.map(({ headers }) => headers.get('Idempotency-Key'));

test('updateSpace with If-Match and renewInvitationCode take effect once if the connection breaks', async () => {
  const body = spaceCreation({ visibility: 'private' });
  const { data: space, response } = await createSpace({
    client: clientThatLoses(0, []),
    body,
    throwOnError: true,
  });
  const path = { space_id: space.space_id };
  const requests: Request[] = [];
  const updated = await updateSpace({
    client: clientThatLoses(1, requests),
    path,
    headers: { 'If-Match': response.headers.get('ETag') ?? '' },
    body: { title: 'Coffee' },
    throwOnError: true,
  });
  expect(requests).toHaveLength(2);
  expect(updated.data).toEqual({ ...space, title: 'Coffee' });
  const codes: unknown[] = [];
  const client = createClient(
    createConfig({
      baseUrl: app.url,
      auth: user.token,
      async fetch(input) {
        const received = await fetch(input);
        codes.push((await received.clone().json()).invitation_code);
        return codes.length === 1 ? breakConnection(received) : received;
      },
    }),
  );
  const renewed = await renewInvitationCode({ client, path, throwOnError: true });
  expect(codes).toEqual([renewed.data.invitation_code, renewed.data.invitation_code]);
  expect(renewed.data.invitation_code).not.toBe(space.invitation_code);
});

test.concurrent.each([
  ['before the response', breakConnection],
  ['within the response', breakBody],
])(
  'createSpace and sendMessage take effect once if the connection breaks %s',
  async (_when, lose) => {
    const requests: Request[] = [];
    const { data: space } = await createSpace({
      client: clientThatLoses(1, requests, lose),
      body: spaceCreation(),
      throwOnError: true,
    });
    const { space_id } = space;
    const { data: message } = await sendMessage({
      client: clientThatLoses(1, [], lose),
      body: { space_id, text: 'Hello' },
      throwOnError: true,
    });

    const [first, second, ...others] = keysOf(requests);
    expect(first).toMatch(/^\w{22}$/);
    expect(second).toBe(first);
    expect(others).toEqual([]);
    expect(
      (await listParticipations(user)).filter((each) => each.space.space_id === space_id),
    ).toHaveLength(1);
    const { data: page } = await api.listMessages({ client: user.client, query: { space_id } });
    expect(page?.items).toEqual([message]);
  },
);

test.concurrent('createSpace fails if the connection breaks twice', async () => {
  const requests: Request[] = [];
  const client = clientThatLoses(2, requests);
  const { error, response } = await createSpace({ client, body: spaceCreation() });
  expect(error).toMatchObject({ name: 'ApiError', cause: new TypeError('fetch failed') });
  expect(response).toBeUndefined();
  expect(requests).toHaveLength(2);
});

test('createSpace is not repeated after an error response', async () => {
  const requests: Request[] = [];
  const client = clientThatLoses(0, requests);
  const { response } = await createSpace({ client, body: spaceCreation({ title: '' }) });
  expect(response?.status).toBe(400);
  expect(requests).toHaveLength(1);
});

test('createSpace is not repeated after its signal aborts', async () => {
  const requests: Request[] = [];
  const controller = new AbortController();
  const client = clientThatLoses(1, requests, () => {
    controller.abort(new Error('The user went away.'));
    throw controller.signal.reason;
  });
  const { signal } = controller;
  const { error } = await createSpace({ client, signal, body: spaceCreation() });
  expect(error).toEqual(new Error('The user went away.'));
});

test('createSpace of TanStack Query sends a key, too', async () => {
  const requests: Request[] = [];
  const options = createSpaceMutation({ client: clientThatLoses(0, requests) });
  await new MutationObserver(new QueryClient(), options).mutate({ body: spaceCreation() });
  expect(keysOf(requests)).toEqual([expect.stringMatching(/^\w{22}$/)]);
});

test('createSpace sends the key of its caller', async () => {
  const requests: Request[] = [];
  const client = clientThatLoses(0, requests);
  const headers = { 'Idempotency-Key': 'chosen-by-the-caller' };
  await createSpace({ client, headers, body: spaceCreation() });
  expect(keysOf(requests)).toEqual(['chosen-by-the-caller']);
});
