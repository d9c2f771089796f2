import {
  type InfiniteData,
  keepPreviousData,
  type QueryClient,
  useInfiniteQuery,
} from '@tanstack/react-query';
import { beforeEach, expect, test, vi } from 'vitest';
import type { SpaceEvents } from '../../client/following.ts';
import {
  ApiError,
  type Client,
  createClient,
  createConfig,
  createSession,
  type MessagePage,
  type SessionStore,
} from '../../client/index.ts';
import { applyEvents } from '../../client/message-hooks.ts';
import {
  createQueryClient,
  getParticipationOptions,
  getSpaceOptions,
  listMessagesInfiniteOptions,
  useAppreciation,
  useConversation,
  useLiveMessages,
  useMessageEdit,
  useParticipation,
  useUnsentMessages,
} from '../../client/tanstack-react-query.ts';
import * as api from '../../generated/sdk.gen.ts';
import type { Message, Space } from '../../generated/types.gen.ts';
import type { TestUser } from '../support/client.ts';
import { createSpace, joinSpace, sendMessage } from '../support/spaces.ts';
import { useApp } from '../support/use-app.ts';
import { renderHook, useDocument } from './render-hook.ts';

useDocument();
const app = useApp();
let ada: TestUser;
let grace: TestUser;
let space: Space;
let client: Client;
let session: SessionStore;
let queryClient: QueryClient;
const onUnauthenticated = vi.fn();
/** Can respond instead of the service. Of each test, because the last requests of one can be sent during the next. */
let service: { respond?: (request: Request) => Promise<Response> | undefined };
beforeEach(async () => {
  [ada, grace] = [await app.register(), await app.register()];
  space = await createSpace(ada);
  await joinSpace(grace, space);
  const current: typeof service = {};
  service = current;
  client = createClient(
    createConfig({
      baseUrl: app.url,
      fetch: (input) => current.respond?.(input as Request) ?? fetch(input as Request),
    }),
  );
  const items = new Map<string, string>();
  session = createSession({
    client,
    storage: {
      getItem: (key) => items.get(key) ?? null,
      setItem: (key, value) => void items.set(key, value),
      removeItem: (key) => void items.delete(key),
    },
  });
  start(ada);
  onUnauthenticated.mockClear();
  queryClient = createQueryClient({ session, onUnauthenticated });
});
/** Events arrive within a second, or later if other tests run at the same time. */
const eventually = (assertion: () => void) => vi.waitFor(assertion, 15_000);

const start = ({ userId, token }: TestUser) =>
  session.start({ user_id: userId, access_token: token });

async function signInAgain(): Promise<void> {
  const { email, password } = ada;
  const { data } = await api.login({ client, body: { email, password }, throwOnError: true });
  session.start(data);
}

const render = <Props, Result>(useHook: (props: Props) => Result, props: Props) =>
  renderHook(queryClient, useHook, props);

/** The list of a space and what follows it, as a front end uses them. */
function useMessages(space_id: string) {
  const list = useInfiniteQuery({
    ...listMessagesInfiniteOptions({ client, query: { space_id } }),
    placeholderData: keepPreviousData,
  });
  const lost = useLiveMessages(space_id, { client });
  return { lost, texts: textsIn(list.data), ...useUnsentMessages(space_id, { client }) };
}

const textsIn = (list: InfiniteData<MessagePage> | undefined) =>
  list?.pages.flatMap(({ items }) => items.map(({ text }) => text));

test('useLiveMessages pauses while the session has expired, and continues with the new token', async () => {
  const conversation = render(useMessages, space.space_id);
  await eventually(() => expect(conversation.current.texts).toEqual([]));
  // The space is public, but without a token, its follower would be another reader.
  const anonymous: string[] = [];
  service.respond = ({ url, headers }) => {
    if (url.includes('wait=') && !headers.has('Authorization')) anonymous.push(url);
    return undefined;
  };
  await api.logout({ client: ada.client, throwOnError: true });
  await eventually(() => expect(session.status()).toBe('expired'));
  await eventually(() => expect(onUnauthenticated).toHaveBeenCalled());
  expect(conversation.current.lost).toBeNull();
  await sendMessage(grace, space, 'Meanwhile');
  await signInAgain();
  await eventually(() => expect(conversation.current.texts).toEqual(['Meanwhile']));
  await sendMessage(grace, space, 'Afterwards');
  await eventually(() => expect(conversation.current.texts).toEqual(['Afterwards', 'Meanwhile']));
  expect(anonymous).toEqual([]);
});

test('useLiveMessages continues with another token of the same user', async () => {
  const conversation = render(useMessages, space.space_id);
  await eventually(() => expect(conversation.current.texts).toEqual([]));
  await signInAgain();
  await api.logout({ client: ada.client, throwOnError: true });
  await sendMessage(grace, space, 'Afterwards');
  await eventually(() => expect(conversation.current.texts).toEqual(['Afterwards']));
  expect(conversation.current.lost).toBeNull();
});

test('useLiveMessages follows the next space, whose messages are placeholders at first', async () => {
  // Its list is still shown next to that of the next space.
  render(useMessages, space.space_id);
  const conversation = render(useMessages, space.space_id);
  await sendMessage(grace, space, 'First space');
  await eventually(() => expect(conversation.current.texts).toEqual(['First space']));
  const next = await createSpace(ada);
  const statuses = new Set<number>();
  service.respond = async (request) => {
    const response = await fetch(request);
    statuses.add(response.status);
    return response;
  };
  conversation.render(next.space_id);
  expect(conversation.current.texts).toEqual(['First space']);
  await eventually(() => expect(conversation.current.texts).toEqual([]));
  await sendMessage(ada, next, 'Second space');
  await eventually(() => expect(conversation.current.texts).toEqual(['Second space']));
  // The position is not that of another list.
  expect([...statuses]).toEqual([200]);
});

test('useLiveMessages loads the messages again after an invalid position, and follows from there', async () => {
  let isOutdated = true;
  service.respond = (request) => {
    if (!isOutdated || !request.url.includes('after=')) return undefined;
    isOutdated = false;
    return fetch(request.url.replace(/after=[\w-]+/, 'after=old'), request);
  };
  const { space_id } = space;
  const query = { space_id };
  const { data } = await api.listMessages({ client: ada.client, query, throwOnError: true });
  const conversation = render(() => {
    const list = useInfiniteQuery({
      ...listMessagesInfiniteOptions({ client, query }),
      // As from a server that renders the page. It is never without data.
      initialData: { pages: [data], pageParams: [undefined as unknown as string] },
    });
    useLiveMessages(space_id, { client });
    return textsIn(list.data);
  }, undefined);
  await eventually(() => expect(isOutdated).toBe(false));
  await sendMessage(grace, space, 'Before');
  await eventually(() => expect(conversation.current).toEqual(['Before']));
  await sendMessage(grace, space, 'After');
  await eventually(() => expect(conversation.current).toEqual(['After', 'Before']));
});

test('useUnsentMessages keeps messages while the session has expired, and nothing after they are sent', async () => {
  const conversation = render(useMessages, space.space_id);
  await eventually(() => expect(conversation.current.texts).toEqual([]));
  await api.logout({ client: ada.client, throwOnError: true });
  let attempts = 0;
  service.respond = ({ method }) => {
    if (method === 'POST') attempts += 1;
    return undefined;
  };
  conversation.current.send('One');
  conversation.current.send('Two');
  const waiting = () => conversation.current.unsent.map(({ waitsFor }) => waitsFor?.code);
  await eventually(() => expect(waiting()).toEqual(['unauthenticated', 'unauthenticated']));
  // Longer than the pause before a repetition.
  await new Promise((resolve) => setTimeout(resolve, 1_200));
  expect(attempts).toBe(1);
  await signInAgain();
  await eventually(() => expect(conversation.current.texts).toEqual(['Two', 'One']));
  await eventually(() => expect(queryClient.getMutationCache().getAll()).toEqual([]));
});

test('useUnsentMessages leaves out a message that is received before the response to its request', async () => {
  const visible = new Set<string>();
  const useVisible = (id: string) => {
    const { texts, unsent, send } = useMessages(id);
    const all = [...unsent.map(({ text }) => text), ...(texts ?? [])];
    visible.add(all.join());
    return { all, send };
  };
  const hook = render(useVisible, space.space_id);
  const responses = Promise.withResolvers<void>();
  service.respond = (request) => {
    if (request.method !== 'POST') return undefined;
    return fetch(request).then((response) => responses.promise.then(() => response));
  };
  hook.current.send('One');
  hook.current.send('Two');
  await eventually(() => expect(hook.current.all).toEqual(['Two', 'One']));
  // The first one has been received; its response has not.
  expect(queryClient.getMutationCache().getAll()).toHaveLength(2);
  responses.resolve();
  await eventually(() => expect(queryClient.getMutationCache().getAll()).toEqual([]));
  expect([...visible].filter((texts) => /One.*One|Two.*Two/.test(texts))).toEqual([]);
});

test('useUnsentMessages shows a message that waits, also if the same text arrives from another device', async () => {
  const conversation = render(useMessages, space.space_id);
  await eventually(() => expect(conversation.current.texts).toEqual([]));
  service.respond = async (request) => {
    if (request.method !== 'POST') return fetch(request);
    return new Response('', { status: 503, headers: { 'Retry-After': '600' } });
  };
  conversation.current.send('Same');
  await eventually(() => expect(conversation.current.unsent[0]?.waitsFor?.status).toBe(503));
  await sendMessage(ada, space, 'Same');
  await eventually(() => expect(conversation.current.texts).toEqual(['Same']));
  expect(conversation.current.unsent.map(({ text }) => text)).toEqual(['Same']);
});

test('applyEvents hides no message being sent for one whose response has arrived', async () => {
  const conversation = render(useMessages, space.space_id);
  await eventually(() => expect(conversation.current.texts).toEqual([]));
  const sent = await sendMessage(ada, space, 'Same');
  await eventually(() => expect(conversation.current.texts).toEqual(['Same']));
  service.respond = (request) =>
    request.method === 'POST' ? new Promise<Response>(() => {}) : undefined;
  conversation.current.send('Same');
  await eventually(() => expect(conversation.current.unsent).toHaveLength(1));
  const repeated = { items: [sent], changed_items: [], deleted_message_ids: [] };
  applyEvents(queryClient, repeated as unknown as SpaceEvents);
  expect(conversation.current.unsent.map(({ text }) => text)).toEqual(['Same']);
});

test('useUnsentMessages never sends a message that has been discarded', async () => {
  const onError = vi.fn();
  const hook = render(() => useUnsentMessages(space.space_id, { client, onError }), undefined);
  const requests: Request[] = [];
  service.respond = (request) => {
    requests.push(request);
    // The response never arrives.
    return new Promise((_resolve, reject) => {
      request.signal.addEventListener('abort', () => reject(request.signal.reason));
    });
  };
  hook.current.send('Too early');
  hook.current.send('Next');
  await eventually(() => expect(requests).toHaveLength(1));
  hook.current.discard(hook.current.unsent[0]?.id ?? 0);
  expect(requests[0]?.signal.aborted).toBe(true);
  await eventually(() => expect(requests).toHaveLength(2));
  expect(await requests[1]?.json()).toMatchObject({ text: 'Next' });
  expect(hook.current.unsent.map(({ text }) => text)).toEqual(['Next']);
  expect(onError).not.toHaveBeenCalled();
});

test('useMessageEdit keeps the last edit until it is saved, and replies show the saved one', async () => {
  const message = await sendMessage(ada, space, 'Helo');
  const answer = { space_id: space.space_id, text: 'Hi', reply_to: message.message_id };
  await api.sendMessage({ client: grace.client, body: answer, throwOnError: true });
  const list = listMessagesInfiniteOptions({ client, query: space });
  await queryClient.fetchInfiniteQuery(list);
  const hook = render(() => useMessageEdit(message, { client }), undefined);
  const texts: string[] = [];
  service.respond = async (request) => {
    const { text } = await request.clone().json();
    texts.push(text);
    const isFirst = texts.length === 1;
    return isFirst
      ? new Response('', { status: 503, headers: { 'Retry-After': '1' } })
      : fetch(request);
  };
  hook.current.edit('Hell');
  await eventually(() => expect(hook.current.unsaved?.waitsFor).toBeInstanceOf(ApiError));
  hook.current.edit('Hello');
  await eventually(() => expect(hook.current.unsaved).toBeNull());
  const [reply, original] = queryClient.getQueryData(list.queryKey)?.pages[0]?.items ?? [];
  expect([original?.text, reply?.reply_to?.text]).toEqual(['Hello', 'Hello']);
  // Longer than the pause before the repetition of the first one.
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  expect(texts).toEqual(['Hell', 'Hello']);

  service.respond = () => undefined;
  await api.deleteMessage({ client: ada.client, path: message, throwOnError: true });
  hook.current.edit('Hello again');
  await eventually(() => expect(hook.current.unsaved?.error?.code).toBe('message_not_found'));
  hook.current.discard();
  await eventually(() => expect(hook.current.unsaved).toBeNull());
});

test('messages of an earlier user are not sent after another one has signed in', async () => {
  const hook = render(() => useUnsentMessages(space.space_id, { client }), undefined);
  let attempts = 0;
  service.respond = (request) => {
    if (request.method === 'POST') attempts += 1;
    return Promise.resolve(new Response('', { status: 503, headers: { 'Retry-After': '1' } }));
  };
  hook.current.send('From Ada');
  await eventually(() => expect(hook.current.unsent[0]?.waitsFor).toBeInstanceOf(ApiError));
  start(grace);
  await eventually(() => expect(hook.current.unsent).toEqual([]));
  // Longer than the pause before the repetition.
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  expect(attempts).toBe(1);
});

test('a failed change of an earlier user is not reverted in the cache of the next one', async () => {
  const ofGrace = await createSpace(grace);
  const message = await sendMessage(grace, ofGrace, 'Hello');
  const next = await app.register();
  await joinSpace(next, ofGrace);
  await api.appreciateMessage({ client: next.client, path: message, throwOnError: true });
  const list = listMessagesInfiniteOptions({ client, query: { space_id: ofGrace.space_id } });
  const details = getSpaceOptions({ client, path: { space_id: ofGrace.space_id } });
  const load = () =>
    Promise.all([queryClient.fetchInfiniteQuery(list), queryClient.fetchQuery(details)]);
  const cached = () => ({
    message: queryClient.getQueryData(list.queryKey)?.pages[0]?.items[0],
    space: queryClient.getQueryData(details.queryKey),
  });
  await load();
  const onError = vi.fn();
  const hook = render(
    () => ({
      toggle: useAppreciation(message, { client, onError }),
      ...useParticipation(ofGrace.space_id, { client, onError }),
    }),
    undefined,
  );
  const { promise, resolve } = Promise.withResolvers<void>();
  service.respond = async (request) => {
    if (request.method === 'PUT') await promise;
    return request.method === 'PUT' ? new Response('', { status: 500 }) : fetch(request);
  };
  hook.current.toggle();
  hook.current.join.mutate({ path: ofGrace, body: {} });
  await eventually(() => expect(cached().message?.is_appreciated).toBe(true));
  await eventually(() => expect(cached().space?.participation).not.toBeNull());
  start(next);
  await load();
  const loaded = cached();
  expect(loaded).toMatchObject({
    message: { is_appreciated: true },
    space: { participant_count: 2 },
  });
  resolve();
  await eventually(() => expect(onError).toHaveBeenCalledTimes(2));
  expect(cached()).toEqual(loaded);
});

test('useConversation begins around the first unread message, and marks visible messages as read', async () => {
  const { message_id } = await sendMessage(grace, space, 'Read');
  await api.markRead({
    client: ada.client,
    path: space,
    body: { message_id },
    throwOnError: true,
  });
  // In the cache, nothing is unread.
  await queryClient.fetchQuery(getParticipationOptions({ client, path: space }));
  await sendMessage(ada, space, 'Own');
  for (let number = 1; number <= 60; number += 1) await sendMessage(grace, space, `${number}`);
  const hook = render(() => useConversation(space.space_id, { client }), undefined);
  expect(hook.current.isReady).toBe(false);
  await eventually(() => expect(hook.current.isReady).toBe(true));
  expect(hook.current.messages.map(({ text }) => text).slice(0, 3)).toEqual(['Read', 'Own', '1']);
  expect(hook.current.firstUnread?.text).toBe('1');
  hook.current.show(hook.current.messages[11] as Message);
  // An earlier one does not change what has been shown.
  hook.current.show(hook.current.messages[5] as Message);
  await eventually(() => expect(hook.current.shown?.text).toBe('10'));
  const unread = async () => {
    const { data } = await api.getParticipation({ client: ada.client, path: space });
    return data?.unread_count;
  };
  await vi.waitFor(async () => expect(await unread()).toBe(50), 15_000);
  expect(hook.current.firstUnread?.text).toBe('1');
});

test('useConversation begins around a linked message, and follows when the newest ones are loaded', async () => {
  const sent: Message[] = [];
  for (let number = 0; number < 120; number += 1) {
    sent.push(await sendMessage(grace, space, `${number}`));
  }
  const reply = { space_id: space.space_id, text: 'Answer', reply_to: sent[119]?.message_id };
  const hook = render(
    ({ messageId }: { messageId: string | null }) =>
      useConversation(space.space_id, { client, messageId }),
    { messageId: (sent[30] as Message).message_id },
  );
  const numbers = () => hook.current.messages.map(({ text }) => Number(text));
  const range = (first: number, last: number) =>
    Array.from({ length: last - first + 1 }, (_, i) => first + i);
  const loadNewer = () => hook.current.query.fetchPreviousPage();
  await eventually(() => expect(numbers()).toEqual(range(6, 55)));
  // It cannot follow those that are loaded, because others are in between.
  sent.push(await sendMessage(ada, space, '120'));
  hook.current.send('121');
  await eventually(() => expect(hook.current.unsent).toEqual([]));
  await eventually(() => expect(numbers().slice(-50)).toEqual(range(72, 121)));

  hook.render({ messageId: (sent[40] as Message).message_id });
  await eventually(() => expect(numbers()).toEqual(range(16, 65)));
  // It is loaded already.
  hook.render({ messageId: (sent[50] as Message).message_id });
  expect(numbers()).toEqual(range(16, 65));
  await loadNewer();
  await eventually(() => expect(numbers()).toEqual(range(16, 115)));
  const deleted = (sent[20] as Message).message_id;
  await api.deleteMessage({ client: grace.client, path: { message_id: deleted } });
  await loadNewer();
  const left = range(16, 121).filter((number) => number !== 20);
  await eventually(() => expect(numbers()).toEqual(left));
  expect(hook.current.query.hasPreviousPage).toBe(false);
  await api.sendMessage({ client: grace.client, body: reply, throwOnError: true });
  await eventually(() => expect(hook.current.messages.at(-1)?.text).toBe('Answer'));

  hook.render({ messageId: deleted });
  await eventually(() => expect(hook.current.missing?.code).toBe('message_not_found'));
  await eventually(() => expect(hook.current.isReady).toBe(true));
});

test('joining again does not change the role in the cache', async () => {
  const details = getSpaceOptions({ client, path: { space_id: space.space_id } });
  await queryClient.fetchQuery(details);
  const hook = render(() => useParticipation(space.space_id, { client }), undefined);
  service.respond = () => new Promise<Response>(() => {});
  hook.current.join.mutate({ path: space, body: {} });
  await eventually(() => expect(hook.current.join.isPending).toBe(true));
  const { participation } = queryClient.getQueryData(details.queryKey) ?? {};
  expect(participation?.role).toBe('creator');
});

test('joining is visible at once, also while the space is being loaded, and reverted if it fails', async () => {
  const ofGrace = await createSpace(grace);
  const details = getSpaceOptions({ client, path: { space_id: ofGrace.space_id } });
  const hook = render(() => useParticipation(ofGrace.space_id, { client }), undefined);
  const space = () => queryClient.getQueryData(details.queryKey);
  await queryClient.fetchQuery(details);
  const isLoaded = Promise.withResolvers<void>();
  const isJoined = Promise.withResolvers<void>();
  service.respond = async (request) => {
    const response = await fetch(request);
    await (request.method === 'GET' ? isLoaded : isJoined).promise;
    return request.method === 'GET' ? response : new Response('', { status: 500 });
  };
  // Its response is older than the change.
  const loading = queryClient.fetchQuery({ ...details, staleTime: 0 });
  hook.current.join.mutate({ path: ofGrace, body: {} });
  await eventually(() => expect(space()?.participant_count).toBe(2));
  isLoaded.resolve();
  await loading;
  expect(space()).toMatchObject({ participant_count: 2, participation: {} });
  isJoined.resolve();
  await eventually(() =>
    expect(space()).toMatchObject({ participant_count: 1, participation: null }),
  );
});
