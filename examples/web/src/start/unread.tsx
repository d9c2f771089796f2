import { useParticipations } from 'space-service/tanstack-react-query';
import { useAddress } from '../navigation.ts';

/** The service counts at most as many in a space. */
const MAX_UNREAD = 100;

interface UnreadProps {
  count: number;
  /** How many of them mention the reader. */
  mentions?: number;
}

/** A number of unread messages. */
export function Unread({ count, mentions = 0 }: UnreadProps) {
  if (count === 0) return null;
  return (
    <>
      {mentions > 0 && (
        <span className="badge mentions" title={`${shorten(mentions)} mention you`}>
          @<span className="visually-hidden"> {shorten(mentions)} mention you,</span>
        </span>
      )}
      <span className="badge">
        {shorten(count)}
        <span className="visually-hidden"> unread</span>
      </span>
    </>
  );
}

export function shorten(count: number): string {
  return count >= MAX_UNREAD ? `${MAX_UNREAD}+` : `${count}`;
}

/** Returns the number of unread messages in all spaces, except the one that is being read. */
export function useUnreadCount(): number {
  const { path, parameters } = useAddress();
  const { participations, unread } = useParticipations();
  const openId = path === 'space' ? parameters.get('id') : null;
  const open = participations.find(({ space }) => space.space_id === openId);
  return unread.message_count - (open?.unread_count ?? 0);
}
