import { useMutation, useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { Message, Space } from 'space-service';
import { getParticipationOptions, markReadMutation } from 'space-service/tanstack-react-query';

/** How long a message is shown until it counts as read. */
const READING_MS = 1_500;

/**
 * Marks the newest message as read when it has been shown for a moment.
 * @returns until when the space was read before this visit; undefined while it is unknown
 */
export function useReadPosition(space: Space, newest: Message | undefined): string | undefined {
  const { space_id, participation } = space;
  const { data } = useQuery({
    ...getParticipationOptions({ path: { space_id } }),
    enabled: participation !== null,
  });
  const [before, setBefore] = useState<string>();
  if (data && before === undefined) setBefore(data.read_until);

  const { mutate } = useMutation(markReadMutation());
  const isUnread = data && newest && newest.created_at > data.read_until;
  const messageId = isUnread ? newest.message_id : undefined;
  useEffect(() => {
    if (!messageId) return;
    const timer = setTimeout(() => {
      if (document.hidden) return;
      mutate({ path: { space_id }, body: { message_id: messageId } });
    }, READING_MS);
    return () => clearTimeout(timer);
  }, [mutate, space_id, messageId]);
  return before;
}
