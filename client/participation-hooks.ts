import {
  type QueryClient,
  useInfiniteQuery,
  useMutation,
  useQueryClient,
} from '@tanstack/react-query';
import { useEffect } from 'react';
import {
  joinSpaceMutation,
  leaveSpaceMutation,
  listParticipationsInfiniteOptions,
} from '../generated/@tanstack/react-query.gen.ts';
import type { Client } from '../generated/client/index.ts';
import type { Participation, Space, UnreadTotals } from '../generated/types.gen.ts';
import { changeCached } from './cache-changes.ts';
import type { ApiError } from './errors.ts';
import { ownParticipations, type ParticipationEvents } from './following.ts';
import { type LiveOptions, useFollowing } from './following-hook.ts';
import {
  detailsOf,
  dropParticipation,
  followedList,
  inOrder,
  listOf,
  putParticipation,
} from './participation-cache.ts';
import { forCurrentUser, useSessionValue } from './session-hooks.ts';

/** The maximum of the contract: the whole list is loaded, because totals of unread messages need it. */
const PAGE_SIZE = 100;

const followedParticipations = {
  ...ownParticipations,
  lists: followedList,
  apply(queryClient: QueryClient, { items, left_space_ids }: ParticipationEvents): void {
    for (const participation of items) {
      reloadParticipants(queryClient, participation);
      putParticipation(queryClient, participation);
    }
    for (const id of left_space_ids) {
      dropParticipation(queryClient, id);
      // Where it is shown: of a public one, only the participation has ended.
      void queryClient.invalidateQueries(detailsOf('getSpace', id));
    }
  },
};

/** Loads the participants of a space again if the role of the caller has changed, because they are not followed. */
function reloadParticipants(queryClient: QueryClient, { space, role }: Participation): void {
  const cached = queryClient.getQueriesData<Space>(detailsOf('getSpace', space.space_id));
  if (cached.every(([, before]) => !before || before.participation?.role === role)) return;
  void queryClient.invalidateQueries(listOf('listParticipants', space.space_id));
}

/**
 * Loads and follows the spaces of the caller, while they are signed in: at most the 1,000 that they have joined most
 * recently. Changes are also visible in the cached spaces and participations. Components, and tabs of a browser, share
 * one waiting request; a hidden tab sends none.
 */
export function useParticipations({ enabled = true, client }: LiveOptions = {}) {
  const status = useSessionValue((session) => session.status());
  const isEnabled = enabled && (status ?? 'signed-in') === 'signed-in';
  const query = useInfiniteQuery({
    ...listParticipationsInfiniteOptions({ client, query: { sort: 'recent', limit: PAGE_SIZE } }),
    enabled: isEnabled,
    // It is followed instead.
    staleTime: Number.POSITIVE_INFINITY,
    meta: { isFollowed: true },
    select: inOrder,
  });
  const { hasNextPage, isFetching, isError, fetchNextPage } = query;
  useEffect(() => {
    if (isEnabled && hasNextPage && !isFetching && !isError)
      void fetchNextPage({ cancelRefetch: false });
  }, [isEnabled, hasNextPage, isFetching, isError, fetchNextPage]);
  const lost = useFollowing(followedParticipations, { enabled: isEnabled, client });

  const { items = [], unread } = query.data?.pages[0] ?? {};
  return {
    /** What `useInfiniteQuery` returns. All pages are loaded by themselves. */
    query,
    /** The loaded participations, those with the latest message first. */
    participations: items,
    /** The unread messages in all spaces together. */
    unread: (hasNextPage && unread) || countUnread(items),
    /** Why the list is no longer followed; null as long as it is. */
    lost,
  };
}

function countUnread(participations: Participation[]): NonNullable<UnreadTotals> {
  const counts = participations
    .map(({ unread_count }) => unread_count)
    .filter((count) => count > 0);
  return {
    space_count: counts.length,
    message_count: counts.reduce((sum, count) => sum + count, 0),
  };
}

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
  const filter = detailsOf('getSpace', spaceId);
  const optimistic = (participationAfter: Update<Space['participation']>) => ({
    onMutate: () => {
      const ifSameUser = forCurrentUser(queryClient);
      const [[, before] = []] = queryClient.getQueriesData<Space>(filter);
      const change = (to: Space['participation']) =>
        changeCached<Space>(queryClient, filter, (space) => withParticipation(space, to));
      change(participationAfter(before?.participation ?? null));
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
    // Joining again has no effect.
    ...optimistic((before) => before ?? newParticipation()),
  });
  const leave = useMutation({ ...leaveSpaceMutation({ client }), ...optimistic(() => null) });
  return { join, leave };
}

type Update<T> = (before: T) => T;

function newParticipation(): Space['participation'] {
  return { joined_at: new Date().toISOString(), role: 'participant' };
}

/** Counts the caller only if this changes whether the caller participates. */
function withParticipation(space: Space, participation: Space['participation']): Space {
  const change = Number(participation !== null) - Number(space.participation !== null);
  return { ...space, participation, participant_count: space.participant_count + change };
}
