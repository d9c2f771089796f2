import type { QueryClient } from '@tanstack/react-query';
import { beforeEach, expect, test, vi } from 'vitest';
import {
  type Client,
  createClient,
  createConfig,
  createSession,
  type Participation,
  type SessionStore,
} from '../../client/index.ts';
import {
  createQueryClient,
  getSpaceOptions,
  leaveSpaceMutation,
  listParticipantsOptions,
  useParticipations,
} from '../../client/tanstack-react-query.ts';
import * as api from '../../generated/sdk.gen.ts';
import type { Space } from '../../generated/types.gen.ts';
import type { TestUser } from '../support/client.ts';
import { createSpace, joinSpace, sendMessage } from '../support/spaces.ts';
import { useApp } from '../support/use-app.ts';
import { renderHook, setHidden, useDocument } from './render-hook.ts';

useDocument();
const app = useApp();
let ada: TestUser;
let grace: TestUser;
/** Those of Grace, which Ada has joined one after the other. */
let spaces: Space[];
let client: Client;
let session: SessionStore;
let queryClient: QueryClient;
/** The queries of the requests for the list. Of each test, because the last requests of one can be sent during the next. */
let requests: URLSearchParams[];
/** Can respond instead of the service. */
let service: { respond?: (request: Request) => Promise<Response> | undefined };
beforeEach(async () => {
  [ada, grace] = [await app.register(), await app.register()];
  spaces = [];
  for (const title of ['One', 'Two', 'Three']) {
    const space = await createSpace(grace, { title });
    await joinSpace(ada, space);
    spaces.push(space);
  }
  const sent: URLSearchParams[] = [];
  const current: typeof service = {};
  [requests, service] = [sent, current];
  client = createClient(
    createConfig({
      baseUrl: app.url,
      fetch: (input) => {
        const request = input as Request;
        const { pathname, searchParams } = new URL(request.url);
        if (pathname === '/api/participations') sent.push(searchParams);
        return current.respond?.(request) ?? fetch(request);
      },
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
  session.start({ user_id: ada.userId, access_token: ada.token });
  queryClient = createQueryClient({ session });
});

/** Events arrive within a second, or later if other tests run at the same time. */
const eventually = (assertion: () => void) => vi.waitFor(assertion, 15_000);
const waits = () => requests.filter((query) => query.has('wait')).length;
const reads = () => requests.filter((query) => !query.has('after')).length;

async function openList() {
  const hook = renderHook(queryClient, () => useParticipations({ client }), undefined);
  await eventually(() => expect(hook.current.query.isSuccess).toBe(true));
  await eventually(() => expect(waits()).toBeGreaterThan(0));
  return hook;
}

const titlesIn = ({ participations }: { participations: Participation[] }) =>
  participations.map(({ space }) => space.title);

test('useParticipations has the latest message of each space, the latest first, and the unread ones together', async () => {
  const hook = await openList();
  expect(titlesIn(hook.current)).toEqual(['Three', 'Two', 'One']);
  expect(hook.current.unread).toEqual({ space_count: 0, message_count: 0 });
  await sendMessage(grace, spaces[0] as Space, 'Hello');
  await eventually(() => expect(titlesIn(hook.current)).toEqual(['One', 'Three', 'Two']));
  expect(hook.current.participations[0]?.last_message?.text).toBe('Hello');
  const { message_id } = await sendMessage(grace, spaces[1] as Space, 'Bye');
  await eventually(() => expect(titlesIn(hook.current)).toEqual(['Two', 'One', 'Three']));
  expect(hook.current.unread).toEqual({ space_count: 2, message_count: 2 });
  await api.deleteMessage({ client: grace.client, path: { message_id }, throwOnError: true });
  await eventually(() => expect(titlesIn(hook.current)).toEqual(['One', 'Three', 'Two']));
  expect(hook.current.unread).toEqual({ space_count: 1, message_count: 1 });
});

test('components share one waiting request, until the last one is gone', async () => {
  const first = await openList();
  const second = await openList();
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect([waits(), requests.length]).toEqual([1, 2]);
  first.unmount();
  await sendMessage(grace, spaces[0] as Space, 'Hello');
  await eventually(() => expect(titlesIn(second.current)[0]).toBe('One'));
  await eventually(() => expect(waits()).toBe(2));
});

test('a space joins the list and leaves it, and is changed where it is shown', async () => {
  const hook = await openList();
  const next = await createSpace(grace, { title: 'Four' });
  const details = getSpaceOptions({ client, path: { space_id: next.space_id } });
  await queryClient.fetchQuery(details);
  // In another client.
  await joinSpace(ada, next);
  await eventually(() => expect(titlesIn(hook.current)[0]).toBe('Four'));
  expect(queryClient.getQueryData(details.queryKey)).toMatchObject({
    participant_count: 2,
    participation: {},
  });
  const [path, body] = [next, { title: 'Fourth' }];
  await api.updateSpace({ client: grace.client, path, body, throwOnError: true });
  await eventually(() => expect(titlesIn(hook.current)[0]).toBe('Fourth'));
  expect(queryClient.getQueryData(details.queryKey)?.title).toBe('Fourth');
  await api.leaveSpace({ client: ada.client, path, throwOnError: true });
  await eventually(() => expect(titlesIn(hook.current)).toEqual(['Three', 'Two', 'One']));
  expect(queryClient.getQueryState(details.queryKey)?.isInvalidated).toBe(true);
});

test('the participants of a space are loaded again when the role of the user changes', async () => {
  const hook = await openList();
  const space = await createSpace(grace);
  const path = { space_id: space.space_id, user_id: ada.userId };
  await joinSpace(ada, space);
  await queryClient.fetchQuery(getSpaceOptions({ client, path: space }));
  const participants = listParticipantsOptions({ client, query: { space_id: space.space_id } });
  await queryClient.fetchQuery(participants);
  const isStale = () => queryClient.getQueryState(participants.queryKey)?.isInvalidated;
  await sendMessage(grace, space, 'Hello');
  await eventually(() => expect(hook.current.unread.message_count).toBe(1));
  expect(isStale()).toBe(false);
  await api.appointModerator({ client: grace.client, path, throwOnError: true });
  await eventually(() => expect(isStale()).toBe(true));
});

test('all pages are loaded, and a space that has moved between them is shown once', async () => {
  const moved = spaces[0] as Space;
  service.respond = async (request) => {
    const url = new URL(request.url);
    if (url.pathname !== '/api/participations' || url.searchParams.has('after'))
      return fetch(request);
    if (url.searchParams.get('cursor')) await sendMessage(grace, moved, 'Moves to the first page');
    url.searchParams.set('limit', '2');
    return fetch(new Request(url, request));
  };
  const listed = spaces[2] as Space;
  const hook = await openList();
  await eventually(() => expect(hook.current.query.hasNextPage).toBe(false));
  await eventually(() => expect(titlesIn(hook.current)).toEqual(['One', 'Three', 'Two']));
  expect(hook.current.unread).toEqual({ space_count: 1, message_count: 1 });
  await sendMessage(grace, listed, 'Hello');
  await eventually(() => expect(titlesIn(hook.current)).toEqual(['Three', 'One', 'Two']));
  expect(reads()).toBe(2);
});

test('the list is loaded again if changes are missing, and followed from there', async () => {
  let isMissing = true;
  service.respond = async (request) => {
    const response = await fetch(request);
    if (!isMissing || !request.url.includes('after=')) return response;
    isMissing = false;
    const page = await response.json();
    return Response.json({ ...page, items: [], left_space_ids: [], is_complete: false });
  };
  const hook = await openList();
  await sendMessage(grace, spaces[0] as Space, 'Missed');
  await eventually(() => expect(isMissing).toBe(false));
  await eventually(() => expect(titlesIn(hook.current)[0]).toBe('One'));
  await sendMessage(grace, spaces[1] as Space, 'Followed');
  await eventually(() => expect(titlesIn(hook.current)[0]).toBe('Two'));
  expect(reads()).toBe(2);
});

test('a mutation does not load the followed list again, and a space that was left disappears at once', async () => {
  const hook = await openList();
  await queryClient
    .getMutationCache()
    .build(queryClient, leaveSpaceMutation({ client }))
    .execute({ path: { space_id: spaces[2]?.space_id ?? '' } });
  await eventually(() => expect(titlesIn(hook.current)).toEqual(['Two', 'One']));
  await sendMessage(grace, spaces[0] as Space, 'Later');
  await eventually(() => expect(titlesIn(hook.current)).toEqual(['One', 'Two']));
  expect(reads()).toBe(1);
});

test('nothing is requested in a hidden tab, while the session has expired, and without one', async () => {
  const hook = await openList();
  setHidden(true);
  await sendMessage(grace, spaces[0] as Space, 'Hidden');
  const before = requests.length;
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  expect([titlesIn(hook.current)[0], requests.length]).toEqual(['Three', before]);
  setHidden(false);
  await eventually(() => expect(titlesIn(hook.current)[0]).toBe('One'));

  session.expire();
  await sendMessage(grace, spaces[1] as Space, 'Expired');
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(titlesIn(hook.current)[0]).toBe('One');
  const { email, password } = ada;
  const { data } = await api.login({ client, body: { email, password }, throwOnError: true });
  session.start(data);
  await eventually(() => expect(titlesIn(hook.current)[0]).toBe('Two'));

  session.end();
  const after = requests.length;
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(requests.slice(after).map(String)).toEqual([]);
});
