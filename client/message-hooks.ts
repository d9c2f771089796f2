import {
  type InfiniteData,
  notifyManager,
  onlineManager,
  type QueryClient,
  useMutation,
  useMutationState,
  useQueryClient,
} from '@tanstack/react-query';
import { useCallback, useEffect, useRef, useState, useSyncExternalStore } from 'react';
import {
  appreciateMessageMutation,
  deleteMessageMutation,
  sendMessageMutation,
  withdrawAppreciationMutation,
} from '../generated/@tanstack/react-query.gen.ts';
import type { Client } from '../generated/client/index.ts';
import { client as defaultClient } from '../generated/client.gen.ts';
import type { Message, MessagePage, SendMessageData } from '../generated/types.gen.ts';
import { ApiError, SessionChangedError, toApiError } from './errors.ts';
import { type SpaceEvents, sleep } from './following.ts';
import { newKey } from './keyed-writes.ts';
import { dropMessage, listsOf, putMessage } from './message-cache.ts';
import { retryDelay } from './retries.ts';
import { forCurrentUser, sessionOf, useSessionStatus, useSessionValue } from './session-hooks.ts';
import { followShared } from './shared-following.ts';

/** Pause before the messages are loaded again, in case that the next cursor is not valid either. */
const RELOAD_PAUSE_MS = 3_000;

/** Number of repetitions after errors other than those of the connection, 429 and 503. */
const MAX_RETRIES = 2;

export interface LiveOptions {
  /** True by default. While the session has expired, nothing is followed. */
  enabled?: boolean | undefined;
  /** By default, the exported `client`. */
  client?: Client | undefined;
}

/**
 * Follows a space from its first page of messages on, which another hook loads: updates the cached lists of its messages
 * when messages are sent, changed or deleted. Loads them again if its position is no longer valid, for example after an
 * upgrade of the server, or too old. Of all visible tabs with the same space, one sends requests for the others; a hidden
 * tab sends none.
 * @returns the error that has ended it, such as 404 when the reader has lost access to the space; null before
 */
export function useLiveMessages(
  spaceId: string,
  { enabled = true, client = defaultClient }: LiveOptions = {},
): ApiError | null {
  const queryClient = useQueryClient();
  const [error, setError] = useState<ApiError | null>(null);
  const [reloads, setReloads] = useState(0);
  const isLoaded = useIsLoaded(spaceId);
  const token = useSessionValue((session) => session.token());
  const isEnabled = enabled && useSessionStatus() !== 'expired';
  const position = useRef({ spaceId, cursor: '' });
  useEffect(() => {
    setError(null);
    if (position.current.spaceId !== spaceId || !isLoaded)
      position.current = { spaceId, cursor: '' };
    position.current.cursor ||= cursorOf(queryClient, spaceId) ?? '';
    if (position.current.cursor === '' || !isEnabled) return;
    let controller = new AbortController();
    const start = () => {
      controller.abort();
      controller = new AbortController();
      const { signal } = controller;
      const reload = async () => {
        await sleep(RELOAD_PAUSE_MS, signal);
        position.current = { spaceId, cursor: '' };
        await queryClient.resetQueries(listsOf(spaceId));
        // Otherwise, the effect has started again after a render without the first page.
        if (!signal.aborted) setReloads((before) => before + 1);
      };
      followShared({
        client,
        spaceId,
        signal,
        position: position.current,
        apply: (events) => applyEvents(queryClient, spaceId, events),
      })
        .catch((reason) => {
          const failure = toApiError(undefined, reason);
          const isOutdated =
            reason instanceof MissingEventsError || failure.code === 'invalid_cursor';
          if (isOutdated) return reload();
          throw failure;
        })
        .catch((failure) => {
          if (!signal.aborted) setError(failure);
        });
    };
    start();
    // At once, because a request of the lost connection may never end.
    const unsubscribe = onlineManager.subscribe((isOnline) => isOnline && start());
    return () => {
      controller.abort();
      unsubscribe();
    };
  }, [queryClient, client, spaceId, isLoaded, isEnabled, token, reloads]);
  return error;
}

/** Returns whether the first page of the messages is in the cache. What a query shows can be that of another space. */
function useIsLoaded(spaceId: string): boolean {
  const queryClient = useQueryClient();
  const subscribe = useCallback(
    (listener: () => void) =>
      queryClient.getQueryCache().subscribe(notifyManager.batchCalls(listener)),
    [queryClient],
  );
  const isLoaded = () => cursorOf(queryClient, spaceId) !== undefined;
  return useSyncExternalStore(subscribe, isLoaded, isLoaded);
}

/** Returns the position after the first page of the messages that is shown; undefined while it is loading. */
function cursorOf(queryClient: QueryClient, spaceId: string): string | undefined {
  const [list] = queryClient.getQueryCache().findAll({ ...listsOf(spaceId), type: 'active' });
  const data = list?.state.data as InfiniteData<MessagePage> | undefined;
  return data?.pages[0]?.newer_cursor;
}

/** Changes are missing, so the messages must be loaded again. */
class MissingEventsError extends Error {}

function applyEvents(queryClient: QueryClient, space_id: string, events: SpaceEvents): void {
  if (!events.is_complete) throw new MissingEventsError();
  for (const message of [...events.items, ...events.changed_items]) {
    putMessage(queryClient, message);
  }
  for (const message_id of events.deleted_message_ids) {
    dropMessage(queryClient, { space_id, message_id });
  }
}

export interface MessageOptions {
  /** Called when a request has failed. */
  onError?: ((error: ApiError) => void) | undefined;
  /** By default, the exported `client`. */
  client?: Client | undefined;
}

/** A message that has no response yet, or whose request has failed. */
export interface UnsentMessage {
  id: number;
  text: string;
  /** Why it is not sent; null while it is being sent or waits. */
  error: ApiError | null;
  /** Why it waits: it is sent by itself as soon as this is possible. Null while it is being sent. */
  waitsFor: ApiError | null;
}

/** Aborts the request of each message, by the variables of its mutation. */
const controllers = new WeakMap<object, AbortController>();

/**
 * Sends messages to a space, one after the other. The cache of mutations contains those that are not sent yet, so they
 * are sent while other views are shown, too. Without a connection, after 429 and 503, and while the session has expired,
 * they wait until it is possible.
 */
export function useUnsentMessages(spaceId: string, options: MessageOptions = {}) {
  const { onError, client } = options;
  const queryClient = useQueryClient();
  const mutationKey = ['sendMessage', spaceId];
  const { mutationFn, ...sending } = sendMessageMutation({ client });
  const mutations = queryClient.getMutationCache();
  const mutationOf = (variables: unknown) =>
    mutations.getAll().find(({ state }) => state.variables === variables);
  const { mutate } = useMutation({
    ...sending,
    mutationFn: async (variables, context) => {
      // Only after the rejected request, so that people see why it waits.
      if (mutationOf(variables)?.state.failureCount) await untilSignedIn(queryClient);
      // A message that was waiting when another user has signed in is not in the cache any more.
      if (!mutationOf(variables) || !mutationFn) throw new SessionChangedError();
      return mutationFn(variables, context);
    },
    mutationKey,
    scope: { id: mutationKey.join() },
    gcTime: Number.POSITIVE_INFINITY,
    // The first request is sent even if the browser believes to be offline. Repetitions wait until it is online.
    networkMode: 'offlineFirst',
    retry: (failures, error) =>
      willBePossible(queryClient, error) || (isTemporary(error) && failures < MAX_RETRIES),
    retryDelay,
    onMutate: () => forCurrentUser(queryClient),
    onSuccess: (message, variables, ifSameUser) => {
      ifSameUser(() => putMessage(queryClient, message));
      const sent = mutationOf(variables);
      if (sent) mutations.remove(sent);
    },
    onError: (error, variables) => {
      if (mutationOf(variables)) onError?.(error);
    },
  });
  const states = useMutationState({
    filters: { mutationKey, predicate: ({ state }) => state.status !== 'success' },
    select: ({ mutationId, state }) => ({ mutationId, ...state }),
  });
  let waitsFor: ApiError | null = null;
  const unsent = states.map(
    ({ mutationId, status, error, failureReason, variables }): UnsentMessage => {
      const isPending = status === 'pending';
      // Those after a waiting one wait, too.
      if (isPending && failureReason) waitsFor = toApiError(undefined, failureReason);
      return {
        id: mutationId,
        text: (variables as SendMessageData).body.text,
        error: isPending ? null : toApiError(undefined, error),
        waitsFor: isPending ? waitsFor : null,
      };
    },
  );

  const findMutation = (id: number) =>
    mutations.getAll().find(({ mutationId }) => mutationId === id);

  function send(text: string): void {
    const controller = new AbortController();
    const variables = {
      body: { space_id: spaceId, text },
      // With the same key, a repeated request does not send the message twice.
      headers: { 'Idempotency-Key': newKey() },
      signal: controller.signal,
    };
    controllers.set(variables, controller);
    mutate(variables);
  }

  function sendAgain(id: number): void {
    const mutation = findMutation(id);
    // Its callbacks handle the error.
    mutation?.execute(mutation.state.variables).catch(() => {});
  }

  /** Does not delete a message that the service has received already. */
  function discard(id: number): void {
    const mutation = findMutation(id);
    if (!mutation) return;
    mutations.remove(mutation);
    controllers.get(mutation.state.variables as object)?.abort();
    void queryClient.resumePausedMutations();
  }

  return { unsent, send, sendAgain, discard };
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

/**
 * Returns a function that appreciates a message, or withdraws the appreciation, visibly at once. Reverts that and calls
 * `onError` if the request fails.
 */
export function useAppreciation(message: Message, options: MessageOptions = {}): () => void {
  const { is_appreciated, appreciation_count } = message;
  const { client, onError } = options;
  const queryClient = useQueryClient();
  const changed = {
    ...message,
    is_appreciated: !is_appreciated,
    appreciation_count: appreciation_count + (is_appreciated ? -1 : 1),
  };
  const callbacks = {
    ...optimistic(queryClient, message, () => putMessage(queryClient, changed), onError),
    onSuccess: (updated: Message, _variables: unknown, put: Put) => put(updated),
  };
  const appreciate = useMutation({ ...appreciateMessageMutation({ client }), ...callbacks });
  const withdraw = useMutation({ ...withdrawAppreciationMutation({ client }), ...callbacks });
  return () => (is_appreciated ? withdraw : appreciate).mutate({ path: message });
}

/** Returns a function that deletes a message, visibly at once. Restores it and calls `onError` if the request fails. */
export function useMessageDeletion(message: Message, options: MessageOptions = {}): () => void {
  const { client, onError } = options;
  const queryClient = useQueryClient();
  const { mutate } = useMutation({
    ...deleteMessageMutation({ client }),
    ...optimistic(queryClient, message, () => dropMessage(queryClient, message), onError),
  });
  return () => mutate({ path: message });
}

/** Puts a message into the cache, unless another user has signed in since the request; by default the original one. */
type Put = (message?: Message) => void;

function optimistic(
  queryClient: QueryClient,
  message: Message,
  change: () => void,
  onError: MessageOptions['onError'],
) {
  return {
    onMutate: (): Put => {
      const ifSameUser = forCurrentUser(queryClient);
      change();
      // `message` of later callbacks is the changed one, because they are renewed when it is rendered.
      return (each = message) => ifSameUser(() => putMessage(queryClient, each));
    },
    onError: (error: ApiError, _variables: unknown, put: Put | undefined) => {
      put?.();
      onError?.(error);
    },
  };
}
