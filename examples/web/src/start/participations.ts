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

/** Returns the number of unread messages in all spaces, except the one that is being read. */
export function useUnreadCount(openSpaceId: string | null): number {
  const { items = [], unread } = useRecentParticipations().data ?? {};
  const open = items.find(({ space }) => space.space_id === openSpaceId);
  return (unread?.message_count ?? 0) - (open?.unread_count ?? 0);
}
