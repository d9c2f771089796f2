import type {
  MutationFunctionContext,
  QueryClient,
  UseMutationOptions,
} from '@tanstack/react-query';
import { ApiError, SessionChangedError } from './errors.ts';
import { retryDelay } from './retries.ts';
import { sessionOf } from './session-hooks.ts';

/** Number of repetitions after errors other than those of the connection, 429 and 503. */
const MAX_RETRIES = 2;

/**
 * Adds to the options of a mutation that it is repeated until the connection, the server and the session permit it, also
 * while other views are shown. A mutation that waits when another user signs in is not sent.
 */
export function repeated<Data, Variables>(
  queryClient: QueryClient,
  { mutationFn, meta }: UseMutationOptions<Data, ApiError, Variables>,
) {
  const mutationOf = (variables: Variables) =>
    queryClient
      .getMutationCache()
      .getAll()
      .find(({ state }) => state.variables === variables);
  return {
    meta,
    mutationFn: async (variables: Variables, context: MutationFunctionContext) => {
      // Only after the rejected request, so that people see why it waits.
      if (mutationOf(variables)?.state.failureCount) await untilSignedIn(queryClient);
      // One that was waiting when another user has signed in is not in the cache any more.
      if (!mutationOf(variables) || !mutationFn) throw new SessionChangedError();
      return mutationFn(variables, context);
    },
    // The first request is sent even if the browser believes to be offline. Repetitions wait until it is online.
    networkMode: 'offlineFirst' as const,
    retry: (failures: number, error: ApiError) =>
      willBePossible(queryClient, error) || (isTemporary(error) && failures < MAX_RETRIES),
    retryDelay,
  };
}

/** Returns whether a request can succeed as soon as there is a connection or a session, or the server has time. */
function willBePossible(queryClient: QueryClient, error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  const session = sessionOf(queryClient);
  // The user has signed in again since the request. Of another user, the message is no longer in the cache.
  if (error.cause instanceof SessionChangedError) return session !== undefined;
  if (error.code === 'unauthenticated') return session?.status() === 'expired';
  const { status } = error;
  return (
    isTemporary(error) && (status === null || status < 300 || status === 429 || status === 503)
  );
}

function isTemporary(error: unknown): error is ApiError {
  return error instanceof ApiError && error.isTemporary;
}

/** Waits while the session has expired. */
function untilSignedIn(queryClient: QueryClient): Promise<void> {
  const session = sessionOf(queryClient);
  return new Promise((resolve) => {
    const update = () => {
      if (session?.status() === 'expired') return;
      unsubscribe?.();
      resolve();
    };
    const unsubscribe = session?.subscribe(update);
    update();
  });
}
