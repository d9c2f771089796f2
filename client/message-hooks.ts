import {
  onlineManager,
  type QueryClient,
  useMutation,
  useMutationState,
  useQueryClient,
} from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import {
  appreciateMessageMutation,
  deleteMessageMutation,
  sendMessageMutation,
  withdrawAppreciationMutation,
} from '../generated/@tanstack/react-query.gen.ts';
import type { Client } from '../generated/client/index.ts';
import { client as defaultClient } from '../generated/client.gen.ts';
import type { Message, SendMessageData } from '../generated/types.gen.ts';
import { ApiError, toApiError } from './errors.ts';
import type { SpaceEvents } from './following.ts';
import { newKey } from './keyed-writes.ts';
import { dropMessage, listsOf, putMessage } from './message-cache.ts';
import { retryDelay } from './retries.ts';
import { followShared } from './shared-following.ts';

/** Pause before the messages are loaded again, in case that the next cursor is not valid either. */
const RELOAD_PAUSE_MS = 3_000;

/** Number of repetitions after errors other than those of the connection, 429 and 503. */
const MAX_RETRIES = 2;

export interface LiveOptions {
  /** False while the session has expired; true by default. */
  enabled?: boolean | undefined;
  /** By default, the exported `client`. */
  client?: Client | undefined;
}

/**
 * Follows a space: updates the cached lists of its messages when messages are sent, changed or deleted. Loads them again
 * if its position is no longer valid, for example after an upgrade of the server, or too old. Of all visible tabs with the
 * same space, one sends requests for the others; a hidden tab sends none.
 * @param newerCursor of the first page of messages; undefined while it is loading
 * @returns the error that has ended it, such as 404 when the reader has lost access to the space; null before
 */
export function useLiveMessages(
  spaceId: string,
  newerCursor: string | undefined,
  { enabled = true, client = defaultClient }: LiveOptions = {},
): ApiError | null {
  const queryClient = useQueryClient();
  const [error, setError] = useState<ApiError | null>(null);
  const position = useRef({ spaceId, cursor: newerCursor });
  if (position.current.spaceId !== spaceId) position.current = { spaceId, cursor: newerCursor };
  position.current.cursor ??= newerCursor;
  const isLoaded = newerCursor !== undefined;
  useEffect(() => {
    setError(null);
    if (!isLoaded || !enabled) return;
    let controller = new AbortController();
    const start = () => {
      controller.abort();
      controller = new AbortController();
      const { signal } = controller;
      const reload = async () => {
        await new Promise((resolve) => setTimeout(resolve, RELOAD_PAUSE_MS));
        if (signal.aborted) return;
        position.current.cursor = undefined;
        // `newerCursor` is undefined until the first page is loaded. Then this effect starts again.
        await queryClient.resetQueries(listsOf(spaceId));
      };
      followShared({
        client,
        spaceId,
        signal,
        position: position.current as { cursor: string },
        apply: (events) => applyEvents(queryClient, spaceId, events),
      }).catch(async (reason) => {
        if (signal.aborted) return;
        const failure = toApiError(undefined, reason);
        if (reason instanceof MissingEventsError || failure.code === 'invalid_cursor')
          await reload();
        else setError(failure);
      });
    };
    start();
    // At once, because a request of the lost connection may never end.
    const unsubscribe = onlineManager.subscribe((isOnline) => isOnline && start());
    return () => {
      controller.abort();
      unsubscribe();
    };
  }, [queryClient, client, spaceId, isLoaded, enabled]);
  return error;
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

/**
 * Sends messages to a space, one after the other. The cache of mutations contains those that are not sent yet, so they
 * are sent while other views are shown, too. Without a connection and after 429 and 503, they wait until it is possible.
 */
export function useUnsentMessages(spaceId: string, options: MessageOptions = {}) {
  const { onError, client } = options;
  const queryClient = useQueryClient();
  const mutationKey = ['sendMessage', spaceId];
  const { mutationFn, ...sending } = sendMessageMutation({ client });
  const mutations = queryClient.getMutationCache();
  const { mutate } = useMutation({
    ...sending,
    mutationFn: (variables, context) => {
      // A message that has been discarded, or was waiting when the session has ended, is not in the cache any more.
      const isQueued = mutations.getAll().some(({ state }) => state.variables === variables);
      if (!isQueued || !mutationFn) throw new Error('The message has been discarded.');
      return mutationFn(variables, context);
    },
    mutationKey,
    scope: { id: mutationKey.join() },
    gcTime: Number.POSITIVE_INFINITY,
    // The first request is sent even if the browser believes to be offline. Repetitions wait until it is online.
    networkMode: 'offlineFirst',
    retry: (failures, error) =>
      willBePossible(error) || (isTemporary(error) && failures < MAX_RETRIES),
    retryDelay,
    onSuccess: (message) => putMessage(queryClient, message),
    onError,
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
    // With the same key, a repeated request does not send the message twice.
    const headers = { 'Idempotency-Key': newKey() };
    mutate({ body: { space_id: spaceId, text }, headers });
  }

  function sendAgain(id: number): void {
    const mutation = findMutation(id);
    // Its callbacks handle the error.
    mutation?.execute(mutation.state.variables).catch(() => {});
  }

  function discard(id: number): void {
    const mutation = findMutation(id);
    if (mutation) mutations.remove(mutation);
    void queryClient.resumePausedMutations();
  }

  return { unsent, send, sendAgain, discard };
}

/** Returns whether a request can succeed as soon as there is a connection or the server has time. */
function willBePossible(error: unknown): boolean {
  if (!isTemporary(error)) return false;
  const { status } = error;
  return status === null || status < 300 || status === 429 || status === 503;
}

function isTemporary(error: unknown): error is ApiError {
  return error instanceof ApiError && error.isTemporary;
}

/**
 * Returns a function that appreciates a message, or withdraws the appreciation, visibly at once. Reverts that and calls
 * `onError` if the request fails.
 */
export function useAppreciation(message: Message, options: MessageOptions = {}): () => void {
  const { is_appreciated, appreciation_count } = message;
  const queryClient = useQueryClient();
  const update = (changed: Message) => putMessage(queryClient, changed);
  const callbacks = {
    onMutate: () => {
      update({
        ...message,
        is_appreciated: !is_appreciated,
        appreciation_count: appreciation_count + (is_appreciated ? -1 : 1),
      });
      // `message` of the callbacks below is the changed one, because they are renewed when it is rendered.
      return message;
    },
    onSuccess: update,
    onError: (error: ApiError, _: unknown, original: Message | undefined) => {
      if (original) update(original);
      options.onError?.(error);
    },
  };
  const { client } = options;
  const appreciate = useMutation({ ...appreciateMessageMutation({ client }), ...callbacks });
  const withdraw = useMutation({ ...withdrawAppreciationMutation({ client }), ...callbacks });
  return () => (is_appreciated ? withdraw : appreciate).mutate({ path: message });
}

/** Returns a function that deletes a message, visibly at once. Restores it and calls `onError` if the request fails. */
export function useMessageDeletion(message: Message, options: MessageOptions = {}): () => void {
  const queryClient = useQueryClient();
  const { mutate } = useMutation({
    ...deleteMessageMutation({ client: options.client }),
    onMutate: () => dropMessage(queryClient, message),
    onError: (error) => {
      putMessage(queryClient, message);
      options.onError?.(error);
    },
  });
  return () => mutate({ path: message });
}
