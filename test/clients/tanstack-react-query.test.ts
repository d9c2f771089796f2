import {
  InfiniteQueryObserver,
  MutationObserver,
  QueryClient,
  QueryObserver,
} from '@tanstack/react-query';
import { beforeAll, beforeEach, expect, test, vi } from 'vitest';
import {
  ApiError,
  type Client,
  createClient,
  createConfig,
  type Message,
} from '../../client/index.ts';
import {
  appreciateMessageMutation,
  blockUserMutation,
  createQueryClient,
  deleteMessageMutation,
  dropMessage,
  getProfileOptions,
  invalidateAfter,
  listMessagesInfiniteOptions,
  listSpacesInfiniteOptions,
  putMessage,
  STALE_AFTER,
  sendMessageMutation,
  unblockUserMutation,
  updateSpaceMutation,
} from '../../client/tanstack-react-query.ts';
import { operations } from '../../server/contract.ts';
import type { TestUser } from '../support/client.ts';
import { createSpace, joinSpace, sendMessage } from '../support/spaces.ts';
import { useApp } from '../support/use-app.ts';

const app = useApp();
let ada: TestUser;
let grace: TestUser;
/** Ada's. */
let client: Client;
let queryClient: QueryClient;
beforeAll(async () => {
  ada = await app.register();
  grace = await app.register();
  client = createClient(createConfig({ baseUrl: app.url, auth: ada.token }));
});
beforeEach(() => {
  queryClient = new QueryClient({ defaultOptions: { queries: { retry: false } } });
});

/** Creates a space with messages of Grace. Returns the options of its list in pages of two, and the newest message. */
async function createConversation(...texts: string[]) {
  const space = await createSpace(ada);
  await joinSpace(grace, space);
  const messages: Message[] = [];
  for (const text of texts) messages.push(await sendMessage(grace, space, text));
  const { space_id } = space;
  const options = listMessagesInfiniteOptions({ client, query: { space_id, limit: 2 } });
  const pages = async () => (await queryClient.fetchInfiniteQuery({ ...options, pages: 9 })).pages;
  const cachedTexts = () =>
    queryClient
      .getQueryData(options.queryKey)
      ?.pages.flatMap(({ items }) => items.map(({ text }) => text));
  return { space_id, messages, pages, cachedTexts };
}

test('infinite options read every page of a list', async () => {
  const { pages } = await createConversation('one', 'two', 'three');
  const texts = (await pages()).map(({ items }) => items.map(({ text }) => text));
  expect(texts).toEqual([['three', 'two'], ['one']]);
});

test('infinite options read the pages of a search', async () => {
  await createSpace(ada, { title: 'Quinces one' });
  await createSpace(ada, { title: 'Quinces two' });
  const options = listSpacesInfiniteOptions({ client, query: { q: 'quinces', limit: 1 } });
  const { pages } = await queryClient.fetchInfiniteQuery({ ...options, pages: 9 });
  const titles = pages.flatMap(({ items }) => items.map(({ title }) => title));
  expect(titles).toEqual(['Quinces two', 'Quinces one']);
});

test('a failed query or mutation has an ApiError', async () => {
  const { space_id } = await createConversation();
  const send = new MutationObserver(queryClient, sendMessageMutation({ client }));
  const error = await send.mutate({ body: { space_id, text: '' } }).catch((reason) => reason);
  expect(error).toBeInstanceOf(ApiError);
  expect(error).toMatchObject({ status: 400, code: 'invalid_request' });

  const offline = createClient(createConfig({ baseUrl: 'http://127.0.0.1:1' }));
  await expect(queryClient.fetchQuery(getProfileOptions({ client: offline }))).rejects.toThrow(
    expect.objectContaining({ name: 'ApiError', status: null, code: null }),
  );
});

test('every query is stale after a mutation that does not change the session', () => {
  const stale = Object.values(STALE_AFTER).flatMap((queries) => (queries === 'all' ? [] : queries));
  const queries = operations.filter(({ method }) => method === 'GET');
  const fresh = queries
    .map(({ operationId }) => operationId)
    .filter((id) => !stale.includes(id as never));
  // Users download the current data whenever they want. No mutation changes the server.
  expect(fresh, 'add it to STALE_AFTER in client/tanstack-react-query.ts').toEqual([
    'downloadAccountData',
    'getServer',
  ]);
});

test('a mutation makes exactly the lists that it changes stale', async () => {
  const { space_id, pages } = await createConversation('one');
  await pages();
  const spaces = listSpacesInfiniteOptions({ client });
  await queryClient.fetchInfiniteQuery(spaces);
  const isStale = () =>
    queryClient
      .getQueryCache()
      .getAll()
      .map(({ queryKey, state }) => [Object(queryKey[0])._id, state.isInvalidated]);
  const observer = new MutationObserver(queryClient, {
    ...updateSpaceMutation({ client }),
    onSuccess: (_data, _variables, _result, { meta }) => invalidateAfter(queryClient, { meta }),
  });
  await observer.mutate({ path: { space_id }, body: { title: 'Changed' } });
  expect(isStale()).toEqual([
    ['listMessages', false],
    ['listSpaces', true],
  ]);
});

test('an active query is fetched again', async () => {
  const observer = new QueryObserver(queryClient, getProfileOptions({ client }));
  const unsubscribe = observer.subscribe(() => {});
  await vi.waitFor(() => expect(observer.getCurrentResult().data).toBeDefined());
  await createSpace(ada);
  const before = observer.getCurrentResult().data?.stats.spaces_created ?? 0;
  await invalidateAfter(queryClient, { meta: { operation: 'createSpace' } });
  expect(observer.getCurrentResult().data?.stats.spaces_created).toBe(before + 1);
  unsubscribe();
});

test('an optimistic message is first in its list, and is replaced or removed', async () => {
  const { space_id, messages, pages, cachedTexts } = await createConversation('one', 'two');
  await pages();
  const drafted = (text: string): Message => ({
    ...(messages[0] as Message),
    message_id: 'draft',
    text,
    created_at: new Date().toISOString(),
  });
  const observer = new MutationObserver(queryClient, {
    ...sendMessageMutation({ client }),
    onMutate: ({ body }) => putMessage(queryClient, drafted(body.text)),
    onSuccess: (message) => putMessage(queryClient, message),
    onSettled: () => dropMessage(queryClient, { space_id, message_id: 'draft' }),
  });
  const sent = observer.mutate({ body: { space_id, text: 'three' } });
  await vi.waitFor(() => expect(cachedTexts()).toEqual(['three', 'two', 'one']));
  await sent;
  expect(cachedTexts()).toEqual(['three', 'two', 'one']);

  const rejected = observer.mutate({ body: { space_id, text: ' ' } });
  await vi.waitFor(() => expect(cachedTexts()).toEqual([' ', 'three', 'two', 'one']));
  await expect(rejected).rejects.toThrow(ApiError);
  expect(cachedTexts()).toEqual(['three', 'two', 'one']);
});

test('an optimistic appreciation changes the count, and a rejected one restores it', async () => {
  const { messages, pages } = await createConversation('one', 'two', 'three');
  const [message] = messages as [Message];
  const counts = async () =>
    (await pages()).flatMap(({ items }) => items.map((each) => each.appreciation_count));
  await counts();
  const observer = new MutationObserver(queryClient, {
    ...appreciateMessageMutation({ client }),
    onMutate: () => putMessage(queryClient, { ...message, appreciation_count: 1 }),
    onSuccess: (appreciated) => putMessage(queryClient, appreciated),
    onError: () => putMessage(queryClient, message),
  });
  await observer.mutate({ path: message });
  expect(await counts()).toEqual([0, 0, 1]);
  await expect(observer.mutate({ path: { message_id: 'unknown' } })).rejects.toThrow(ApiError);
  expect(await counts()).toEqual([0, 0, 1]);
});

test('an optimistic deletion removes a message, and a rejected one puts it back in its place', async () => {
  const { messages, pages, cachedTexts } = await createConversation('one', 'two', 'three');
  await pages();
  const [, message] = messages as [Message, Message];
  const remove = (as: Client) =>
    new MutationObserver(queryClient, {
      ...deleteMessageMutation({ client: as }),
      onMutate: () => dropMessage(queryClient, message),
      onError: () => putMessage(queryClient, message),
    }).mutate({ path: message });
  const stranger = createClient(createConfig({ baseUrl: app.url, auth: 'ss_unknown' }));
  const rejected = remove(stranger);
  await vi.waitFor(() => expect(cachedTexts()).toEqual(['three', 'one']));
  await expect(rejected).rejects.toThrow(ApiError);
  expect(cachedTexts()).toEqual(['three', 'two', 'one']);
  await remove(client);
  expect(cachedTexts()).toEqual(['three', 'one']);
});

test('createQueryClient shows a long wait as an error at once', async () => {
  let requests = 0;
  const busy = createClient(
    createConfig({
      baseUrl: app.url,
      fetch: async () => {
        requests += 1;
        return new Response('', { status: 429, headers: { 'Retry-After': '12' } });
      },
    }),
  );
  const profile = createQueryClient().fetchQuery({
    ...getProfileOptions({ client: busy }),
    retry: createQueryClient().getDefaultOptions().queries?.retry,
  });
  await expect(profile).rejects.toMatchObject({ status: 429, retryAfter: 12 });
  expect(requests).toBe(1);
});

test('after a message, createQueryClient does not wait, and replaces it in the loaded pages', async () => {
  const { space_id, pages } = await createConversation('one', 'two', 'three');
  const requests: string[] = [];
  const counted = createClient(
    createConfig({
      baseUrl: app.url,
      auth: ada.token,
      fetch: async (request) => {
        requests.push((request as Request).method);
        return fetch(request);
      },
    }),
  );
  await pages();
  const created = createQueryClient();
  const options = listMessagesInfiniteOptions({ client: counted, query: { space_id, limit: 2 } });
  const list = new InfiniteQueryObserver(created, options);
  const unsubscribe = list.subscribe(() => {});
  await vi.waitFor(() => expect(list.getCurrentResult().isSuccess).toBe(true));
  await list.fetchNextPage();
  const send = new MutationObserver(created, sendMessageMutation({ client: counted }));
  const { message_id } = await send.mutate({ body: { space_id, text: 'four' } });
  const texts = () =>
    list.getCurrentResult().data?.pages.flatMap(({ items }) => items.map(({ text }) => text));
  expect(texts()).toEqual(['four', 'three', 'two', 'one']);
  const remove = new MutationObserver(created, deleteMessageMutation({ client: counted }));
  await remove.mutate({ path: { message_id } });
  expect(texts()).toEqual(['three', 'two', 'one']);
  unsubscribe();
  expect(requests).toEqual(['GET', 'GET', 'POST', 'DELETE']);
});

test('blocking a user marks the messages in cached lists at once, until that ends', async () => {
  const { space_id } = await createConversation('one', 'two', 'three');
  const options = listMessagesInfiniteOptions({ client, query: { space_id, limit: 2 } });
  const created = createQueryClient();
  await created.fetchInfiniteQuery({ ...options, pages: 2 });
  const marks = () =>
    created
      .getQueryData(options.queryKey)
      ?.pages.flatMap(({ items }) => items.map(({ is_blocked }) => is_blocked));
  const path = { user_id: grace.userId };
  await new MutationObserver(created, blockUserMutation({ client })).mutate({ path });
  expect(marks()).toEqual([true, true, true]);
  await new MutationObserver(created, unblockUserMutation({ client })).mutate({ path });
  expect(marks()).toEqual([false, false, false]);
});

test('createQueryClient repeats queries after temporary errors, and loads again what has changed', async () => {
  const failures = [
    new Response('', { status: 503, headers: { 'Retry-After': '1' } }),
    new Response('', { status: 404 }),
  ];
  const unstable = createClient(
    createConfig({
      baseUrl: app.url,
      auth: ada.token,
      fetch: async (request) => failures.shift() ?? fetch(request as Request),
    }),
  );
  const created = createQueryClient();
  const options = { ...getProfileOptions({ client: unstable }), staleTime: Infinity };
  await expect(created.fetchQuery(options)).rejects.toMatchObject({ status: 404 });
  expect(failures).toEqual([]);
  const { stats } = await created.fetchQuery(options);
  const sent = new MutationObserver(created, sendMessageMutation({ client }));
  const { space_id } = await createSpace(ada);
  await sent.mutate({ body: { space_id, text: 'one two three' } });
  const later = await created.fetchQuery(options);
  expect(later.stats.total_words_contributed).toBe(stats.total_words_contributed + 3);
});

test('changes of messages while older ones load, and while all load again, are not lost', async () => {
  const { space_id, messages, pages } = await createConversation('one', 'two', 'three');
  const [one, , three] = messages as [Message, Message, Message];
  const held = Promise.withResolvers<void>();
  let isHeld = false;
  const slow = createClient(
    createConfig({
      baseUrl: app.url,
      auth: ada.token,
      fetch: async (request) => {
        const response = await fetch(request);
        if (isHeld) await held.promise;
        return response;
      },
    }),
  );
  await pages();
  const list = new InfiniteQueryObserver(
    queryClient,
    listMessagesInfiniteOptions({ client: slow, query: { space_id, limit: 2 } }),
  );
  const unsubscribe = list.subscribe(() => {});
  await vi.waitFor(() => expect(list.getCurrentResult().isSuccess).toBe(true));
  const texts = () =>
    list.getCurrentResult().data?.pages.flatMap(({ items }) => items.map(({ text }) => text));
  isHeld = true;
  const older = list.fetchNextPage();
  putMessage(queryClient, { ...three, message_id: 'live', text: 'four', created_at: '9999' });
  dropMessage(queryClient, three);
  dropMessage(queryClient, one);
  expect(texts()).toEqual(['four', 'two']);
  held.resolve();
  await older;
  expect(texts()).toEqual(['four', 'two']);
  // Later fetches do not repeat them.
  await list.refetch();
  expect(texts()).toEqual(['three', 'two', 'one']);
  unsubscribe();
});

test('a search in messages keeps its items current, and gets no new ones', async () => {
  const { space_id, messages } = await createConversation('tea', 'coffee', 'green tea');
  const [tea, , greenTea] = messages as [Message, Message, Message];
  const options = listMessagesInfiniteOptions({
    client: ada.client,
    query: { space_id, q: 'tea' },
  });
  await queryClient.fetchInfiniteQuery(options);
  const texts = () =>
    queryClient
      .getQueryData(options.queryKey)
      ?.pages.flatMap(({ items }) => items.map(({ text }) => text));
  expect(texts()).toEqual(['green tea', 'tea']);
  putMessage(queryClient, { ...greenTea, message_id: 'live', text: 'milk', created_at: '9999' });
  putMessage(queryClient, { ...tea, text: 'black tea' });
  expect(texts()).toEqual(['green tea', 'black tea']);
  dropMessage(queryClient, greenTea);
  expect(texts()).toEqual(['black tea']);
});
