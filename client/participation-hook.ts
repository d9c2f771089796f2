import { useMutation, useQueryClient } from '@tanstack/react-query';
import { joinSpaceMutation, leaveSpaceMutation } from '../generated/@tanstack/react-query.gen.ts';
import type { Client } from '../generated/client/index.ts';
import type { Space } from '../generated/types.gen.ts';
import type { ApiError } from './errors.ts';
import { readKey } from './message-cache.ts';

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
  const optimistic = (change: (space: Space) => Partial<Space>) => ({
    onMutate: async () => {
      // Their responses would revert the change.
      await queryClient.cancelQueries(filter);
      const before = queryClient.getQueriesData<Space>(filter);
      queryClient.setQueriesData<Space>(filter, (space) => space && { ...space, ...change(space) });
      return before;
    },
    onSuccess: () => onSuccess?.(),
    onError: (error: ApiError, _variables: unknown, before: CachedSpaces | undefined) => {
      for (const [key, space] of before ?? []) queryClient.setQueryData(key, space);
      onError?.(error);
    },
  });
  const join = useMutation({
    ...joinSpaceMutation({ client }),
    ...optimistic(({ participant_count }) => ({
      participation: { joined_at: new Date().toISOString() },
      participant_count: participant_count + 1,
    })),
  });
  const leave = useMutation({
    ...leaveSpaceMutation({ client }),
    ...optimistic(({ participant_count }) => ({
      participation: null,
      participant_count: participant_count - 1,
    })),
  });
  return { join, leave };
}

type CachedSpaces = [queryKey: readonly unknown[], space: Space | undefined][];
