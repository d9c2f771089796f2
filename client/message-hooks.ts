import {
  type MutationState,
  type QueryClient,
  type UseMutationOptions,
  useMutation,
  useMutationState,
  useQueryClient,
} from '@tanstack/react-query';
import {
  appreciateMessageMutation,
  deleteMessageMutation,
  editMessageMutation,
  sendMessageMutation,
  withdrawAppreciationMutation,
} from '../generated/@tanstack/react-query.gen.ts';
import type { Client } from '../generated/client/index.ts';
import type { Message } from '../generated/types.gen.ts';
import { type ApiError, toApiError } from './errors.ts';
import { messagesIn, type SpaceEvents } from './following.ts';
import { type LiveOptions, useFollowing } from './following-hook.ts';
import { newKey } from './keyed-writes.ts';
import { currentListsOf, dropMessage, isCached, putMessage } from './message-cache.ts';
import { repeated } from './repeated-mutations.ts';
import { forCurrentUser, sessionOf } from './session-hooks.ts';

/**
 * Follows a space from its newest page of messages on, which another hook loads: updates the cached lists of its messages
 * when messages are sent, changed or deleted. Loads them again if its position is no longer valid, for example after an
 * upgrade of the server, or too old. Of all visible tabs with the same space, one sends requests for the others; a hidden
 * tab sends none.
 * @returns the error that has ended it, such as 404 when the reader has lost access to the space; null before
 */
export function useLiveMessages(spaceId: string, options: LiveOptions = {}): ApiError | null {
  const feed = { ...messagesIn(spaceId), lists: currentListsOf(spaceId), apply: applyEvents };
  return useFollowing(feed, options);
}

/** Applies the events of a space to its cached lists of messages. */
export function applyEvents(queryClient: QueryClient, events: SpaceEvents): void {
  for (const message of events.items) {
    // The response to one in the cache has arrived.
    if (!isCached(queryClient, message)) hideUnsent(queryClient, message);
  }
  for (const message of [...events.items, ...events.changed_items])
    putMessage(queryClient, message);
  for (const message_id of events.deleted_message_ids) dropMessage(queryClient, { message_id });
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
 * are sent while other views are shown, too. Without a connection, after 429 and 503, and while the session has expired,
 * they wait until it is possible.
 */
export function useUnsentMessages(spaceId: string, { client, onError }: MessageOptions = {}) {
  const mutationKey = ['sendMessage', spaceId];
  const { unsent, send, ...others } = useTexts(
    mutationKey,
    sendMessageMutation({ client }),
    onError,
  );
  return {
    unsent,
    /** @param replyTo the message in the same space that the new one answers, if it answers one */
    send: (text: string, replyTo?: Pick<Message, 'message_id'> | null) =>
      send({ body: { space_id: spaceId, text, reply_to: replyTo?.message_id } }),
    ...others,
  };
}

/** Edits a message of the caller. Edits that are not saved yet are kept and repeated like those of {@link useUnsentMessages}. */
export function useMessageEdit({ message_id }: Message, { client, onError }: MessageOptions = {}) {
  const mutationKey = ['editMessage', message_id];
  const edits = useTexts(mutationKey, editMessageMutation({ client }), onError);
  const unsaved = edits.unsent.at(-1) ?? null;
  const discard = () => {
    for (const { id } of edits.unsent) edits.discard(id);
  };
  return {
    /** The text that is not saved yet; null if there is none. */
    unsaved,
    /** Replaces the text, also one that is not saved yet. */
    edit(text: string): void {
      discard();
      edits.send({ path: { message_id }, body: { text } });
    },
    saveAgain: () => unsaved && edits.sendAgain(unsaved.id),
    discard,
  };
}

/** The variables of mutations whose message has been received before their response. */
const received = new WeakSet<object>();

/**
 * Hides the message being sent that has been received with this one, so that it is not visible twice until its response
 * arrives. It could also be the same text from another device, so it is visible again if its request fails or waits.
 */
function hideUnsent(queryClient: QueryClient, { space_id, author, text }: Message): void {
  if (author.user_id !== sessionOf(queryClient)?.userId()) return;
  const mutations = queryClient.getMutationCache();
  const mutation = mutations.find({
    mutationKey: ['sendMessage', space_id],
    predicate: ({ state }) =>
      isBeingSent(state) && !isReceived(state) && textOf(state.variables) === text,
  });
  if (!mutation) return;
  received.add(mutation.state.variables as object);
  mutations.notify({ type: 'updated', mutation, action: { type: 'continue' } });
}

type TextState = MutationState<unknown, Error, unknown>;

function isReceived(state: TextState): boolean {
  return isBeingSent(state) && received.has(state.variables as object);
}

/** Returns whether the first request of a text runs, without a failed attempt before it. */
function isBeingSent({ status, isPaused, failureCount }: TextState): boolean {
  return status === 'pending' && !isPaused && failureCount === 0;
}

const textOf = (variables: unknown) => (variables as { body: { text: string } }).body.text;

/** Aborts the request of each text, by the variables of its mutation. */
const controllers = new WeakMap<object, AbortController>();

/** Sends the texts of new or edited messages, one after the other. */
function useTexts<Variables extends { body: { text: string } }>(
  mutationKey: string[],
  options: UseMutationOptions<Message, ApiError, Variables>,
  onError: MessageOptions['onError'],
) {
  const queryClient = useQueryClient();
  const mutations = queryClient.getMutationCache();
  const mutationOf = (variables: unknown) =>
    mutations.getAll().find(({ state }) => state.variables === variables);
  const { mutate } = useMutation({
    ...repeated(queryClient, options),
    mutationKey,
    scope: { id: mutationKey.join() },
    gcTime: Number.POSITIVE_INFINITY,
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
    select: ({ mutationId, state }) => ({
      mutationId,
      isReceived: isReceived(state),
      ...state,
    }),
  });
  let waitsFor: ApiError | null = null;
  const unsent: UnsentMessage[] = [];
  for (const each of states) {
    const isPending = each.status === 'pending';
    // Those after a waiting one wait, too.
    if (isPending && each.failureReason) waitsFor = toApiError(undefined, each.failureReason);
    if (each.isReceived) continue;
    unsent.push({
      id: each.mutationId,
      text: textOf(each.variables),
      error: isPending ? null : toApiError(undefined, each.error),
      waitsFor: isPending ? waitsFor : null,
    });
  }

  const findMutation = (id: number) =>
    mutations.getAll().find(({ mutationId }) => mutationId === id);

  function send(text: Variables): void {
    const controller = new AbortController();
    const { signal } = controller;
    // With the same key, a repeated request does not take effect twice.
    const variables = { ...text, headers: { 'Idempotency-Key': newKey() }, signal };
    controllers.set(variables, controller);
    mutate(variables);
  }

  function sendAgain(id: number): void {
    const mutation = findMutation(id);
    // Its callbacks handle the error.
    mutation?.execute(mutation.state.variables).catch(() => {});
  }

  /** Does not undo what the service has received already. */
  function discard(id: number): void {
    const mutation = findMutation(id);
    if (!mutation) return;
    mutations.remove(mutation);
    controllers.get(mutation.state.variables as object)?.abort();
    void queryClient.resumePausedMutations();
  }

  return { unsent, send, sendAgain, discard };
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
