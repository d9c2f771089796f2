import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query';
import { ApiError, client, SearchAPI } from 'space-service';
import { STALE_AFTER } from 'space-service/tanstack-react-query';
import { isSignInRequired, isTemporary, SessionChangedError } from './errors.ts';
import { askToSignIn } from './navigation.ts';
import { accessToken, onSessionChange } from './session.ts';

/** The service. By default, it has the origin of this page. */
const baseUrl = import.meta.env.VITE_API_URL || location.origin;

/** Rejects if the session has changed meanwhile, so that the page shows no late response of an earlier account. */
const fetchInSession: typeof fetch = async (...request) => {
  const token = accessToken();
  const response = await fetch(...request);
  if (accessToken() !== token) throw new SessionChangedError();
  return response;
};

client.setConfig({ baseUrl, auth: accessToken, fetch: fetchInSession });

export const searchApi = new SearchAPI({ baseUrl });

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      // A request is sent even if the browser believes to be offline, because the service can be on this machine.
      networkMode: 'always',
      refetchOnReconnect: true,
      retry: (count, error) => count === 0 && isTemporary(error) && !isRateLimit(error),
      retryDelay: 500,
      staleTime: 5_000,
    },
    mutations: { networkMode: 'always' },
  },
  queryCache: new QueryCache({ onError }),
  mutationCache: new MutationCache({
    onError,
    // Loads again what a mutation has changed, except messages: they are updated as they are followed.
    onSuccess: (_data, _variables, _result, { meta }) => {
      const stale = STALE_AFTER[meta?.operation as keyof typeof STALE_AFTER] ?? [];
      void queryClient.invalidateQueries({
        predicate: ({ queryKey }) => {
          const { _id } = Object(queryKey[0]);
          return _id !== 'listMessages' && (stale === 'all' || stale.includes(_id));
        },
      });
    },
  }),
});

// Nothing of an account remains for the next one.
onSessionChange(() => queryClient.clear());

function onError(error: unknown): void {
  if (isSignInRequired(error)) askToSignIn();
}

function isRateLimit(error: unknown): boolean {
  return error instanceof ApiError && error.status === 429;
}
