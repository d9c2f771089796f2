import { useMutation, useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState, useSyncExternalStore } from 'react';
import type { Message, Space } from 'space-service';
import { getParticipationOptions, markReadMutation } from 'space-service/tanstack-react-query';
import { session } from '../session.ts';

/** How long a message is shown until it counts as read. */
const READING_MS = 1_500;

/** Pause between requests. In a lively conversation, one for each message would soon use up the reader's quota. */
const MARKING_INTERVAL_MS = 20_000;

/**
 * Marks messages as read up to the one that has been shown for a moment.
 * @param shown the newest message that is or was in the visible part of the list
 * @returns until when the space was read before this visit; undefined while it is loading, null if it is unknown
 */
export function useReadPosition(space: Space, shown: Message | undefined) {
  const { space_id, participation } = space;
  const { data, isError } = useQuery({
    ...getParticipationOptions({ path: { space_id } }),
    enabled: participation !== null,
  });
  const [before, setBefore] = useState<string>();
  if (data && before === undefined) setBefore(data.read_until);

  const { mutate } = useMutation(markReadMutation());
  const isUnread = data && shown && shown.created_at > data.read_until;
  const messageId = isUnread ? shown.message_id : undefined;
  const earliest = useRef(0);
  // A message that arrives in a hidden tab is shown when the reader returns to it.
  const isVisible = useSyncExternalStore(onVisibilityChange, () => !document.hidden);
  useEffect(() => {
    if (!messageId || !isVisible) return;
    const delay = Math.max(READING_MS, earliest.current - Date.now());
    const timer = setTimeout(() => {
      earliest.current = Date.now() + MARKING_INTERVAL_MS;
      mutate({ path: { space_id }, body: { message_id: messageId } });
    }, delay);
    return () => clearTimeout(timer);
  }, [mutate, space_id, messageId, isVisible]);

  // A reader who leaves during the pause has seen the message.
  const leave = useRef(() => {});
  leave.current = () => {
    if (!messageId || Date.now() > earliest.current || session.token() === '') return;
    mutate({ path: { space_id }, body: { message_id: messageId } });
  };
  useEffect(() => () => leave.current(), []);
  return participation === null || isError ? null : before;
}

function onVisibilityChange(listener: () => void): () => void {
  document.addEventListener('visibilitychange', listener);
  return () => document.removeEventListener('visibilitychange', listener);
}
