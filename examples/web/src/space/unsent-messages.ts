import { useMutation, useMutationState, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { Message } from 'space-service';
import { putMessage, sendMessageMutation } from 'space-service/tanstack-react-query';
import { codeOf, isTemporary } from '../errors.ts';

/** A message that has no response yet, or whose request has failed. */
export interface UnsentMessage {
  id: number;
  text: string;
  /** Undefined while it is being sent. */
  error: unknown;
}

type Variables = Parameters<NonNullable<ReturnType<typeof sendMessageMutation>['mutationFn']>>[0];

/**
 * Sends messages, one after the other. The cache of mutations contains those that are not sent yet, so they remain while
 * other views are shown.
 */
export function useUnsentMessages(spaceId: string, onForbidden: () => void) {
  const queryClient = useQueryClient();
  const mutationKey = ['sendMessage', spaceId];
  const { mutate } = useMutation({
    ...sendMessageMutation(),
    mutationKey,
    scope: { id: mutationKey.join() },
    gcTime: Number.POSITIVE_INFINITY,
    onSuccess: (message: Message) => putMessage(queryClient, message),
    onError: (error) => {
      if (codeOf(error) === 'not_a_participant') onForbidden();
    },
  });
  const unsent: UnsentMessage[] = useMutationState({
    filters: { mutationKey, predicate: ({ state }) => state.status !== 'success' },
    select: ({ mutationId, state: { status, error, variables } }) => ({
      id: mutationId,
      text: (variables as Variables).body.text,
      error: status === 'error' ? error : undefined,
    }),
  });

  const findMutation = (id: number) =>
    queryClient
      .getMutationCache()
      .getAll()
      .find(({ mutationId }) => mutationId === id);

  function send(text: string): void {
    // With the same key, a repeated request does not send the message twice.
    const headers = { 'Idempotency-Key': crypto.randomUUID() };
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

  useEffect(() => {
    const sendAll = () => {
      for (const { id, error } of unsent) if (isTemporary(error)) sendAgain(id);
    };
    window.addEventListener('online', sendAll);
    return () => window.removeEventListener('online', sendAll);
  });

  return { unsent, send, sendAgain, discard };
}
