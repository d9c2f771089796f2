import { MutationObserver, QueryObserver } from '@tanstack/react-query';
import { beforeEach, expect, test, vi } from 'vitest';
import {
  type Client,
  createClient,
  createConfig,
  createSession,
  getMessage,
  getProfile,
  login,
  type SessionStore,
} from '../../client/index.ts';
import {
  appreciateMessageMutation,
  createQueryClient,
  getProfileOptions,
  listMessagesInfiniteOptions,
  loginMutation,
  logoutMutation,
} from '../../client/tanstack-react-query.ts';
import type { TestUser } from '../support/client.ts';
import { createSpace, sendMessage } from '../support/spaces.ts';
import { useApp } from '../support/use-app.ts';

const app = useApp();
let stored: Map<string, string>;
let client: Client;
let session: SessionStore;
let ada: TestUser;
beforeEach(async () => {
  ada = await app.register();
  ({ client, session } = open());
});

/** Opens another tab, or the same one after a reload, if it has the same storage. */
function open(items = new Map<string, string>(), fetch = globalThis.fetch) {
  stored = items;
  const opened = createClient(createConfig({ baseUrl: app.url, fetch }));
  const storage = storageOf(items);
  return { client: opened, session: createSession({ client: opened, storage }) };
}

const storageOf = (items: Map<string, string>) => ({
  getItem: (key: string) => items.get(key) ?? null,
  setItem: (key: string, value: string) => void items.set(key, value),
  removeItem: (key: string) => void items.delete(key),
});

const start = ({ userId, token }: TestUser) =>
  session.start({ user_id: userId, access_token: token });

test('a session is sent with each request, and restored from the storage', async () => {
  expect([session.status(), session.token(), session.userId()]).toEqual(['signed-out', '', null]);
  start(ada);
  const { data } = await getProfile({ client });
  expect(data?.user_id).toBe(ada.userId);
  const reloaded = open(stored);
  expect(reloaded.session.status()).toBe('signed-in');
  expect((await getProfile({ client: reloaded.client })).data?.user_id).toBe(ada.userId);
});

test('a damaged item in the storage is no session', () => {
  stored.set('space-service-session', 'not JSON');
  expect(session.status()).toBe('signed-out');
});

test('a response of another server does not start a session', () => {
  expect(() => session.start({} as never)).toThrow(TypeError);
  expect(session.status()).toBe('signed-out');
});

test('a late response of an earlier session is discarded', async () => {
  const next = await app.register();
  ({ client, session } = open(new Map(), async (input) => {
    const response = await fetch(input);
    start(next);
    return response;
  }));
  start(ada);
  const { data, error } = await getProfile({ client });
  expect(data).toBeUndefined();
  expect(error).toMatchObject({ cause: { name: 'SessionChangedError' }, isTemporary: false });
});

test('responses to the same user arrive after the session has expired, for example that of a sign-out', async () => {
  ({ client, session } = open(new Map(), async (input) => {
    const response = await fetch(input);
    // Another request has been rejected meanwhile.
    session.expire();
    return response;
  }));
  const queryClient = createQueryClient({ session });
  start(ada);
  await new MutationObserver(queryClient, logoutMutation({ client })).mutate({});
  expect(session.status()).toBe('signed-out');
});

test('a rejection of an earlier token does not expire the session of the same user', async () => {
  ({ client, session } = open(new Map(), async (input) => {
    const response = await fetch(input);
    start(ada);
    return response;
  }));
  start({ ...ada, token: 'sps_earlier' });
  const { error } = await getProfile({ client });
  expect(error).toMatchObject({ cause: { name: 'SessionChangedError' }, status: null });
  expect(session.token()).toBe(ada.token);
});

test('functions expire the session, too, and a rejected password does not', async () => {
  start({ ...ada, token: 'sps_unknown' });
  const body = { email: ada.email, password: 'another password' };
  expect((await login({ client, body })).error).toMatchObject({ status: 401 });
  expect(session.status()).toBe('signed-in');
  expect((await getProfile({ client })).error).toMatchObject({ code: 'unauthenticated' });
  expect(session.status()).toBe('expired');
});

test('requests with a fetch of their own belong to the session, and the global one can be replaced later', async () => {
  const next = await app.register();
  start(ada);
  const { error } = await getProfile({
    client,
    fetch: async (input) => {
      const response = await fetch(input);
      start(next);
      return response;
    },
  });
  expect(error).toMatchObject({ cause: { name: 'SessionChangedError' } });

  const global = createClient(createConfig({ baseUrl: app.url }));
  createSession({ client: global, storage: storageOf(new Map()) });
  const replaced = vi.spyOn(globalThis, 'fetch').mockResolvedValueOnce(Response.json({ ok: true }));
  expect((await getProfile({ client: global })).data).toEqual({ ok: true });
  replaced.mockRestore();
});

test('a late success of an earlier user does not change the cache of the next one', async () => {
  const next = await app.register();
  const space = await createSpace(next);
  const message = await sendMessage(next, space, 'Hello');
  const isSignedIn = Promise.withResolvers<void>();
  ({ client, session } = open(new Map(), async (input) => {
    const response = await fetch(input);
    if ((input as Request).method !== 'PUT') return response;
    const bytes = await response.bytes();
    // The session changes after the headers have arrived.
    const body = new ReadableStream({
      async start(stream) {
        await isSignedIn.promise;
        stream.enqueue(bytes);
        stream.close();
      },
    });
    return new Response(body, response);
  }));
  const queryClient = createQueryClient({ session });
  start(ada);
  const appreciate = new MutationObserver(queryClient, appreciateMessageMutation({ client }));
  const appreciated = appreciate.mutate({ path: message });
  await vi.waitFor(async () => {
    const { data } = await getMessage({ client: next.client, path: message });
    expect(data?.appreciation_count).toBe(1);
  });
  start(next);
  const options = listMessagesInfiniteOptions({ client, query: { space_id: space.space_id } });
  await queryClient.fetchInfiniteQuery(options);
  isSignedIn.resolve();
  await appreciated;
  const [page] = queryClient.getQueryData(options.queryKey)?.pages ?? [];
  expect(page?.items).toMatchObject([{ appreciation_count: 1, is_appreciated: false }]);
});

test('a rejected token expires the session once, and the same user continues', async () => {
  const onUnauthenticated = vi.fn();
  const queryClient = createQueryClient({ session, onUnauthenticated });
  start({ ...ada, token: 'sps_unknown' });
  const options = getProfileOptions({ client });
  const profile = new QueryObserver(queryClient, options);
  const unsubscribe = profile.subscribe(() => {});
  await vi.waitFor(() => expect(session.status()).toBe('expired'));
  expect(session.userId()).toBe(ada.userId);
  await vi.waitFor(() => expect(onUnauthenticated).toHaveBeenCalledOnce());
  // Without a click, because the observer is still there.
  start(ada);
  await vi.waitFor(() => expect(profile.getCurrentResult().data?.user_id).toBe(ada.userId));
  unsubscribe();
});

test('login starts a session, and logout ends it without requests that would fail', async () => {
  const statuses: number[] = [];
  ({ client, session } = open(new Map(), async (request) => {
    const response = await fetch(request);
    statuses.push(response.status);
    return response;
  }));
  const queryClient = createQueryClient({ session });
  const login = new MutationObserver(queryClient, loginMutation({ client }));
  await login.mutate({ body: { email: ada.email, password: ada.password } });
  expect(session.userId()).toBe(ada.userId);
  const profile = new QueryObserver(queryClient, getProfileOptions({ client }));
  const unsubscribe = profile.subscribe(() => {});
  await vi.waitFor(() => expect(profile.getCurrentResult().isSuccess).toBe(true));
  await new MutationObserver(queryClient, logoutMutation({ client })).mutate({});
  expect(session.status()).toBe('signed-out');
  expect(queryClient.getQueryCache().getAll()).toEqual([]);
  unsubscribe();
  expect(statuses).toEqual([200, 200, 200]);
});

test('without a session store, a sign-in fetches with the token that the application has stored', async () => {
  let token = '';
  const statuses: number[] = [];
  const own = createClient(
    createConfig({
      baseUrl: app.url,
      auth: () => token,
      fetch: async (request) => {
        const response = await fetch(request);
        statuses.push(response.status);
        return response;
      },
    }),
  );
  const queryClient = createQueryClient();
  const profile = new QueryObserver(queryClient, getProfileOptions({ client: own }));
  const unsubscribe = profile.subscribe(() => {});
  await vi.waitFor(() => expect(profile.getCurrentResult().isError).toBe(true));
  const login = new MutationObserver(queryClient, {
    ...loginMutation({ client: own }),
    onSuccess: ({ access_token }) => {
      token = access_token;
    },
  });
  await login.mutate({ body: { email: ada.email, password: ada.password } });
  await vi.waitFor(() => expect(profile.getCurrentResult().isSuccess).toBe(true));
  unsubscribe();
  expect(statuses).toEqual([401, 200, 200]);
});
