import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import {
  getParticipationOptions,
  markReadMutation,
} from '../generated/@tanstack/react-query.gen.ts';
import type { Client } from '../generated/client/index.ts';
import type { Message } from '../generated/types.gen.ts';

/** How long a message is shown until it counts as read. */
const READING_MS = 1_500;

/** Pause between requests. In a lively conversation, one for each message would soon use up the reader's quota. */
const MARKING_INTERVAL_MS = 20_000;

export interface ReadingOptions {
  /** Whether the reader participates in the space; true by default. */
  enabled?: boolean | undefined;
  /** By default, the exported `client`. */
  client?: Client | undefined;
}

/**
 * Marks messages as read up to the one that has been shown for a moment. In a hidden tab, nothing is shown.
 * @param shown the newest message that is or was in the visible part of the list
 * @returns until when the space was read before this visit, as the time of a message; undefined while this is loading,
 *   null if the reader does not participate or it cannot be loaded
 */
export function useReadPosition(
  spaceId: string,
  shown: Message | undefined,
  { enabled = true, client }: ReadingOptions = {},
): string | null | undefined {
  const queryClient = useQueryClient();
  const options = getParticipationOptions({ client, path: { space_id: spaceId } });
  const { data, isError } = useQuery({ ...options, enabled });
  const [before, setBefore] = useState<string>();
  if (data && before === undefined) setBefore(data.read_until);

  const { mutate } = useMutation(markReadMutation({ client }));
  const isUnread = data && shown && shown.created_at > data.read_until;
  const messageId = isUnread ? shown.message_id : undefined;
  const earliest = useRef(0);
  const [isVisible, setIsVisible] = useState(true);
  useEffect(() => {
    const update = () => setIsVisible(!document.hidden);
    update();
    document.addEventListener('visibilitychange', update);
    return () => document.removeEventListener('visibilitychange', update);
  }, []);
  useEffect(() => {
    if (!messageId || !isVisible) return;
    const delay = Math.max(READING_MS, earliest.current - Date.now());
    const timer = setTimeout(() => {
      earliest.current = Date.now() + MARKING_INTERVAL_MS;
      mutate({ path: { space_id: spaceId }, body: { message_id: messageId } });
    }, delay);
    return () => clearTimeout(timer);
  }, [mutate, spaceId, messageId, isVisible]);

  // A reader who leaves during the pause has seen the message. After a sign-out, the cache is empty.
  const leave = useRef(() => {});
  leave.current = () => {
    const isSignedIn = queryClient.getQueryData(options.queryKey) !== undefined;
    if (!messageId || Date.now() > earliest.current || !isSignedIn) return;
    mutate({ path: { space_id: spaceId }, body: { message_id: messageId } });
  };
  useEffect(() => () => leave.current(), []);
  return !enabled || isError ? null : before;
}
