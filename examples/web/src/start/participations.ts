import { useQuery } from '@tanstack/react-query';
import { listParticipationsOptions } from 'space-service/tanstack-react-query';
import { useIsSignedIn } from '../session.ts';

/** How often the numbers of unread messages are loaded again. */
export const REFRESH_MS = 30_000;

/** The spaces of the user with the latest messages. The header and the start share one request. */
export function useRecentParticipations() {
  const enabled = useIsSignedIn();
  return useQuery({
    ...listParticipationsOptions({ query: { sort: 'recent' } }),
    enabled,
    refetchInterval: REFRESH_MS,
  });
}

/** Returns the number of unread messages in them, except those of the space that is being read. */
export function useUnreadCount(openSpaceId: string | null): number {
  const { data } = useRecentParticipations();
  return (data?.items ?? [])
    .filter(({ space }) => space.space_id !== openSpaceId)
    .reduce((sum, { unread_count }) => sum + unread_count, 0);
}
