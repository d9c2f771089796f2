import {
  type InfiniteData,
  keepPreviousData,
  type QueryClient,
  useInfiniteQuery,
} from '@tanstack/react-query';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import {
  ApiError,
  type Client,
  createClient,
  createConfig,
  createSession,
  type MessagePage,
  type SessionStore,
} from '../../client/index.ts';
import {
  createQueryClient,
  getSpaceOptions,
  listMessagesInfiniteOptions,
  useAppreciation,
  useLiveMessages,
  useParticipation,
  useUnsentMessages,
} from '../../client/tanstack-react-query.ts';
import * as api from '../../generated/sdk.gen.ts';
import type { Space } from '../../generated/types.gen.ts';
import type { TestUser } from '../support/client.ts';
import { createSpace, joinSpace, sendMessage } from '../support/spaces.ts';
import { useApp } from '../support/use-app.ts';
import { renderHook } from './render-hook.ts';

const app = useApp();
let ada: TestUser;
let grace: TestUser;
let space: Space;
let client: Client;
let session: SessionStore;
let queryClient: QueryClient;
const onUnauthenticated = vi.fn();
/** Intercepts requests; by default none. */
let respond: (request: Request) => Promise<Response> | undefined;
let unmounts: (() => void)[] = [];
beforeEach(async () => {
  [ada, grace] = [await app.register(), await app.register()];
  space = await createSpace(ada);
  await joinSpace(grace, space);
  respond = () => undefined;
  client = createClient(
    createConfig({
      baseUrl: app.url,
      fetch: (input) => respond(input as Request) ?? fetch(input as Request),
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
afterEach(() => {
  for (const unmount of unmounts) unmount();
  unmounts = [];
});

const start = ({ userId, token }: TestUser) =>
  session.start({ user_id: userId, access_token: token });

async function signInAgain(): Promise<void> {
  const { email, password } = ada;
  const { data } = await api.login({ client, body: { email, password }, throwOnError: true });
  session.start(data);
}

function render<Props, Result>(useHook: (props: Props) => Result, props: Props) {
  const hook = renderHook(queryClient, useHook, props);
  unmounts.push(hook.unmount);
  return hook;
}

/** The list of a space and what follows it, as a front end uses them. */
function useConversation(space_id: string) {
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
  const conversation = render(useConversation, space.space_id);
  await vi.waitFor(() => expect(conversation.current.texts).toEqual([]));
  await api.logout({ client: ada.client, throwOnError: true });
  await vi.waitFor(() => expect(session.status()).toBe('expired'));
  await vi.waitFor(() => expect(onUnauthenticated).toHaveBeenCalled());
  expect(conversation.current.lost).toBeNull();
  await sendMessage(grace, space, 'Meanwhile');
  await signInAgain();
  await vi.waitFor(() => expect(conversation.current.texts).toEqual(['Meanwhile']));
  await sendMessage(grace, space, 'Afterwards');
  await vi.waitFor(() => expect(conversation.current.texts).toEqual(['Afterwards', 'Meanwhile']));
});

test('useLiveMessages follows the next space, whose messages are placeholders at first', async () => {
  const conversation = render(useConversation, space.space_id);
  await sendMessage(grace, space, 'First space');
  await vi.waitFor(() => expect(conversation.current.texts).toEqual(['First space']));
  const next = await createSpace(ada);
  conversation.render(next.space_id);
  expect(conversation.current.texts).toEqual(['First space']);
  await vi.waitFor(() => expect(conversation.current.texts).toEqual([]));
  await sendMessage(ada, next, 'Second space');
  await vi.waitFor(() => expect(conversation.current.texts).toEqual(['Second space']));
});

test('useLiveMessages loads the messages again after an invalid position, and follows from there', async () => {
  let isOutdated = true;
  respond = (request) => {
    if (!isOutdated || !request.url.includes('after=')) return undefined;
    isOutdated = false;
    return fetch(request.url.replace(/after=[\w-]+/, 'after=old'), request);
  };
  const conversation = render(useConversation, space.space_id);
  await vi.waitFor(() => expect(isOutdated).toBe(false));
  await sendMessage(grace, space, 'Before');
  await vi.waitFor(() => expect(conversation.current.texts).toEqual(['Before']), 6_000);
  await sendMessage(grace, space, 'After');
  await vi.waitFor(() => expect(conversation.current.texts).toEqual(['After', 'Before']));
});

test('useUnsentMessages keeps messages while the session has expired, and nothing after they are sent', async () => {
  const conversation = render(useConversation, space.space_id);
  await vi.waitFor(() => expect(conversation.current.texts).toEqual([]));
  await api.logout({ client: ada.client, throwOnError: true });
  conversation.current.send('One');
  conversation.current.send('Two');
  const waiting = () => conversation.current.unsent.map(({ waitsFor }) => waitsFor?.code);
  await vi.waitFor(() => expect(waiting()).toEqual(['unauthenticated', 'unauthenticated']));
  await signInAgain();
  await vi.waitFor(() => expect(conversation.current.texts).toEqual(['Two', 'One']), 4_000);
  await vi.waitFor(() => expect(queryClient.getMutationCache().getAll()).toEqual([]));
});

test('useUnsentMessages never sends a message that has been discarded', async () => {
  const onError = vi.fn();
  const hook = render(() => useUnsentMessages(space.space_id, { client, onError }), undefined);
  const requests: Request[] = [];
  respond = (request) => {
    requests.push(request);
    // The response never arrives.
    return new Promise((_resolve, reject) => {
      request.signal.addEventListener('abort', () => reject(request.signal.reason));
    });
  };
  hook.current.send('Too early');
  hook.current.send('Next');
  await vi.waitFor(() => expect(requests).toHaveLength(1));
  hook.current.discard(hook.current.unsent[0]?.id ?? 0);
  expect(requests[0]?.signal.aborted).toBe(true);
  await vi.waitFor(() => expect(requests).toHaveLength(2));
  respond = () => undefined;
  expect(await requests[1]?.json()).toMatchObject({ text: 'Next' });
  expect(hook.current.unsent.map(({ text }) => text)).toEqual(['Next']);
  expect(onError).not.toHaveBeenCalled();
});

test('messages of an earlier user are not sent after another one has signed in', async () => {
  const hook = render(() => useUnsentMessages(space.space_id, { client }), undefined);
  let attempts = 0;
  respond = (request) => {
    if (request.method === 'POST') attempts += 1;
    return Promise.resolve(new Response('', { status: 503, headers: { 'Retry-After': '1' } }));
  };
  hook.current.send('From Ada');
  await vi.waitFor(() => expect(hook.current.unsent[0]?.waitsFor).toBeInstanceOf(ApiError));
  start(grace);
  await vi.waitFor(() => expect(hook.current.unsent).toEqual([]));
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
  respond = async (request) => {
    if (request.method === 'PUT') await promise;
    return request.method === 'PUT' ? new Response('', { status: 500 }) : fetch(request);
  };
  hook.current.toggle();
  hook.current.join.mutate({ path: ofGrace, body: {} });
  await vi.waitFor(() => expect(cached().message?.is_appreciated).toBe(true));
  await vi.waitFor(() => expect(cached().space?.participation).not.toBeNull());
  start(next);
  await load();
  const loaded = cached();
  expect(loaded).toMatchObject({
    message: { is_appreciated: true },
    space: { participant_count: 2 },
  });
  resolve();
  await vi.waitFor(() => expect(onError).toHaveBeenCalledTimes(2));
  expect(cached()).toEqual(loaded);
});

test('joining is visible at once, also while the space is being loaded, and reverted if it fails', async () => {
  const ofGrace = await createSpace(grace);
  const details = getSpaceOptions({ client, path: { space_id: ofGrace.space_id } });
  const hook = render(() => useParticipation(ofGrace.space_id, { client }), undefined);
  const space = () => queryClient.getQueryData(details.queryKey);
  await queryClient.fetchQuery(details);
  const isLoaded = Promise.withResolvers<void>();
  const isJoined = Promise.withResolvers<void>();
  respond = async (request) => {
    const response = await fetch(request);
    await (request.method === 'GET' ? isLoaded : isJoined).promise;
    return request.method === 'GET' ? response : new Response('', { status: 500 });
  };
  // Its response is older than the change.
  const loading = queryClient.fetchQuery({ ...details, staleTime: 0 });
  hook.current.join.mutate({ path: ofGrace, body: {} });
  await vi.waitFor(() => expect(space()?.participant_count).toBe(2));
  isLoaded.resolve();
  await loading;
  expect(space()).toMatchObject({ participant_count: 2, participation: {} });
  isJoined.resolve();
  await vi.waitFor(() =>
    expect(space()).toMatchObject({ participant_count: 1, participation: null }),
  );
});
