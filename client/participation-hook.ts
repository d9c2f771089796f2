import { useMutation, useQueryClient } from '@tanstack/react-query';
import { joinSpaceMutation, leaveSpaceMutation } from '../generated/@tanstack/react-query.gen.ts';
import type { Client } from '../generated/client/index.ts';
import type { Space } from '../generated/types.gen.ts';
import { changeCached } from './cache-changes.ts';
import type { ApiError } from './errors.ts';
import { readKey } from './message-cache.ts';
import { forCurrentUser } from './session-hooks.ts';

export interface ParticipationOptions {
  /** Called when the caller has joined or left, also if the component is not shown any more. */
  onSuccess?: (() => void) | undefined;
  /** Called when a request has failed. */
  onError?: ((error: ApiError) => void) | undefined;
  /** By default, the exported `client`. */
  client?: Client | undefined;
}

/**
 * Returns the mutations that join and leave a space. Both are visible in the cached space at once, and reverted if the
 * request fails.
 */
export function useParticipation(spaceId: string, options: ParticipationOptions = {}) {
  const { onSuccess, onError, client } = options;
  const queryClient = useQueryClient();
  const filter = {
    predicate: ({ queryKey }: { queryKey: readonly unknown[] }) => {
      const { _id, path } = readKey(queryKey);
      return _id === 'getSpace' && path?.space_id === spaceId;
    },
  };
  const optimistic = (participation: () => Space['participation']) => ({
    onMutate: () => {
      const ifSameUser = forCurrentUser(queryClient);
      const [[, before] = []] = queryClient.getQueriesData<Space>(filter);
      const change = (to: Space['participation']) =>
        changeCached<Space>(queryClient, filter, (space) => withParticipation(space, to));
      change(participation());
      return () => ifSameUser(() => before && change(before.participation));
    },
    onSuccess: () => onSuccess?.(),
    onError: (error: ApiError, _variables: unknown, revert: (() => void) | undefined) => {
      revert?.();
      onError?.(error);
    },
  });
  const join = useMutation({
    ...joinSpaceMutation({ client }),
    ...optimistic(() => ({ joined_at: new Date().toISOString() })),
  });
  const leave = useMutation({ ...leaveSpaceMutation({ client }), ...optimistic(() => null) });
  return { join, leave };
}

/** Counts the caller only if this changes whether the caller participates. */
function withParticipation(space: Space, participation: Space['participation']): Space {
  const change = Number(participation !== null) - Number(space.participation !== null);
  return { ...space, participation, participant_count: space.participant_count + change };
}
