import type { InfiniteData, QueryClient, QueryFilters } from '@tanstack/react-query';
import type { Participation, ParticipationPage, Space } from '../generated/types.gen.ts';
import { changeCached } from './cache-changes.ts';
import { readKey } from './message-cache.ts';

type Pages = InfiniteData<ParticipationPage>;

/** Finds the infinite list of the spaces of the caller that is followed. Others are loaded again after changes. */
export const followedList: QueryFilters = { predicate: ({ meta }) => meta?.isFollowed === true };

/** Adds a participation to the followed list in the cache, or replaces it there, as well as the space where it is shown. */
export function putParticipation(queryClient: QueryClient, participation: Participation): void {
  const { space } = participation;
  const isSame = (each: Participation) => each.space.space_id === space.space_id;
  changeCached<Pages>(queryClient, followedList, ({ pages, ...list }) => {
    const isKnown = pages.some(({ items }) => items.some(isSame));
    return {
      ...list,
      pages: pages.map((page, index) => ({
        ...page,
        // Its place is where its page is sorted.
        items: [
          ...(isKnown || index > 0 ? [] : [participation]),
          ...page.items.map((each) => (isSame(each) ? participation : each)),
        ],
      })),
    };
  });
  changeCached<Participation>(
    queryClient,
    detailsOf('getParticipation', space.space_id),
    () => participation,
  );
  changeCached<Space>(queryClient, detailsOf('getSpace', space.space_id), () => space);
}

/** Removes a space from the followed list in the cache. */
export function dropParticipation(queryClient: QueryClient, space_id: string): void {
  changeCached<Pages>(queryClient, followedList, ({ pages, ...list }) => ({
    ...list,
    pages: pages.map((page) => ({
      ...page,
      items: page.items.filter(({ space }) => space.space_id !== space_id),
    })),
  }));
}

/**
 * Returns a list as one page, those with the latest message first. While its pages were loaded, a space can have moved
 * from one to another.
 */
export function inOrder({ pages, pageParams }: Pages): Pages {
  const items = pages.flatMap((page) => page.items);
  // Of a space, the last one, because it was loaded later.
  const latest = [...new Map(items.map((each) => [each.space.space_id, each])).values()];
  latest.sort((a, b) => (activeAt(a) < activeAt(b) ? 1 : activeAt(a) > activeAt(b) ? -1 : 0));
  return { pages: pages.slice(0, 1).map((page) => ({ ...page, items: latest })), pageParams };
}

function activeAt({ last_message_at, joined_at }: Participation): string {
  return last_message_at ?? joined_at;
}

/** Finds the lists of one space by an operation. */
export function listOf(operation: string, spaceId: string): QueryFilters {
  return {
    predicate({ queryKey }) {
      const { _id, query } = readKey(queryKey);
      return _id === operation && query?.space_id === spaceId;
    },
  };
}

/** Finds the queries of one space by an operation. */
export function detailsOf(operation: string, spaceId: string): QueryFilters {
  return {
    predicate({ queryKey }) {
      const { _id, path } = readKey(queryKey);
      return _id === operation && path?.space_id === spaceId;
    },
  };
}
