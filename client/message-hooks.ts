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
import { type ApiError, toApiError } from './errors.ts';
import { followMessages } from './following.ts';
import { newKey } from './keyed-writes.ts';
import { dropMessage, listsOf, putMessage } from './message-cache.ts';

/** Pause between updates, which bounds their rate even if a server does not wait. */
const UPDATE_PAUSE_MS = 200;

/** Pause before the messages are loaded again, in case that the next cursor is not valid either. */
const RELOAD_PAUSE_MS = 3_000;

/**
 * Follows a space: updates the cached lists of its messages when messages are sent, changed or deleted. Loads them again
 * if its position is no longer valid, for example after an upgrade of the server, or too old.
 * @param newerCursor of the first page of messages; undefined while it is loading
 * @param client by default, the exported `client`
 * @returns the error that has ended it, such as 404 when the reader has lost access to the space; null before
 */
export function useLiveMessages(
  spaceId: string,
  newerCursor: string | undefined,
  client: Client = defaultClient,
): ApiError | null {
  const queryClient = useQueryClient();
  const [error, setError] = useState<ApiError | null>(null);
  const position = useRef({ spaceId, cursor: newerCursor });
  if (position.current.spaceId !== spaceId) position.current = { spaceId, cursor: newerCursor };
  position.current.cursor ??= newerCursor;
  const isLoaded = newerCursor !== undefined;
  useEffect(() => {
    setError(null);
    if (!isLoaded) return;
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
      follow(queryClient, client, position.current, signal).then(reload, async (reason) => {
        if (signal.aborted) return;
        const failure = toApiError(undefined, reason);
        if (failure.code === 'invalid_cursor') await reload();
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
  }, [queryClient, client, spaceId, isLoaded]);
  return error;
}

/** Returns when changes are missing, so that the messages must be loaded again. */
async function follow(
  queryClient: QueryClient,
  client: Client,
  position: { spaceId: string; cursor: string | undefined },
  signal: AbortSignal,
): Promise<void> {
  const { spaceId: space_id, cursor: after } = position;
  for await (const update of followMessages({ space_id, after, signal, client })) {
    if (!update.is_complete) return;
    for (const message of [...update.items, ...update.changed_items]) {
      putMessage(queryClient, message);
    }
    for (const message_id of update.deleted_message_ids) {
      dropMessage(queryClient, { space_id, message_id });
    }
    position.cursor = update.newer_cursor;
    await new Promise((resolve) => setTimeout(resolve, UPDATE_PAUSE_MS));
  }
}

export interface MessageOptions {
  /** Called when a request has failed. */
  onError?: (error: ApiError) => void;
  /** By default, the exported `client`. */
  client?: Client;
}

/** A message that has no response yet, or whose request has failed. */
export interface UnsentMessage {
  id: number;
  text: string;
  /** Null while it is being sent. */
  error: ApiError | null;
}

/**
 * Sends messages to a space, one after the other. The cache of mutations contains those that are not sent yet, so they
 * remain while other views are shown. Those without a response are sent again when the connection returns.
 */
export function useUnsentMessages(spaceId: string, options: MessageOptions = {}) {
  const { onError, client } = options;
  const queryClient = useQueryClient();
  const mutationKey = ['sendMessage', spaceId];
  const { mutate } = useMutation({
    ...sendMessageMutation({ client }),
    mutationKey,
    scope: { id: mutationKey.join() },
    gcTime: Number.POSITIVE_INFINITY,
    onSuccess: (message) => putMessage(queryClient, message),
    onError,
  });
  const unsent: UnsentMessage[] = useMutationState({
    filters: { mutationKey, predicate: ({ state }) => state.status !== 'success' },
    select: ({ mutationId, state: { status, error, variables } }) => ({
      id: mutationId,
      text: (variables as SendMessageData).body.text,
      error: status === 'error' ? toApiError(undefined, error) : null,
    }),
  });

  const findMutation = (id: number) =>
    queryClient
      .getMutationCache()
      .getAll()
      .find(({ mutationId }) => mutationId === id);

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
    if (mutation) queryClient.getMutationCache().remove(mutation);
  }

  useEffect(() =>
    onlineManager.subscribe((isOnline) => {
      for (const { id, error } of unsent) if (isOnline && error?.isTemporary) sendAgain(id);
    }),
  );

  return { unsent, send, sendAgain, discard };
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
