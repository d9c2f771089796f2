import { MutationObserver, QueryObserver } from '@tanstack/react-query';
import { beforeEach, expect, test, vi } from 'vitest';
import {
  type Client,
  createClient,
  createConfig,
  createSession,
  getProfile,
  type SessionStore,
} from '../../client/index.ts';
import {
  createQueryClient,
  getProfileOptions,
  loginMutation,
  logoutMutation,
} from '../../client/tanstack-react-query.ts';
import type { TestUser } from '../support/client.ts';
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
  const storage = {
    getItem: (key: string) => items.get(key) ?? null,
    setItem: (key: string, value: string) => void items.set(key, value),
    removeItem: (key: string) => void items.delete(key),
  };
  return { client: opened, session: createSession({ client: opened, storage }) };
}

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
