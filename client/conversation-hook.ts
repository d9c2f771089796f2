import { useInfiniteQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useState } from 'react';
import { listMessagesInfiniteOptions } from '../generated/@tanstack/react-query.gen.ts';
import type { Message } from '../generated/types.gen.ts';
import { type MessageOptions, useLiveMessages, useUnsentMessages } from './message-hooks.ts';
import { useReadPosition } from './reading-hook.ts';
import { useUserId } from './session-hooks.ts';

/** The first unread message is on one of the first pages, because the service counts at most 100. */
const PAGE_SIZE = 50;
const MAX_UNREAD = 100;

export interface ConversationOptions extends MessageOptions {
  /** Whether the reader participates in the space. Without it, nothing is unread. True by default. */
  isParticipant?: boolean | undefined;
}

/**
 * Loads, follows, sends and marks the messages of a space. Begins with as many pages as are needed to show the first unread
 * message.
 */
export function useConversation(spaceId: string, options: ConversationOptions = {}) {
  const { isParticipant = true, client, onError } = options;
  const query = useInfiniteQuery({
    ...listMessagesInfiniteOptions({ client, query: { space_id: spaceId, limit: PAGE_SIZE } }),
    // They are followed instead.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  const lost = useLiveMessages(spaceId, { client });
  const sending = useUnsentMessages(spaceId, { client, onError });
  const [shown, setShown] = useState<Message>();
  const readUntil = useReadPosition(spaceId, shown, { enabled: isParticipant, client });
  const userId = useUserId();

  const { data, isSuccess, isFetching, hasNextPage, fetchNextPage } = query;
  const messages = useMemo(
    () => (data?.pages ?? []).flatMap(({ items }) => items).reverse(),
    [data],
  );
  const [oldest] = messages;
  const [readySpace, setReadySpace] = useState<string>();
  const isReady = readySpace === spaceId;
  useEffect(() => {
    if (isReady || !isSuccess || isFetching || readUntil === undefined) return;
    const isUnreadOnly = readUntil !== null && oldest && oldest.created_at > readUntil;
    if (isUnreadOnly && hasNextPage && messages.length < MAX_UNREAD) void fetchNextPage();
    else setReadySpace(spaceId);
  });
  const firstUnread = messages.find(
    ({ created_at, author }) => readUntil && created_at > readUntil && author.user_id !== userId,
  );

  /** Tells which message is the newest in the visible part of the list. It counts as read after a moment. */
  function show(message: Message): void {
    setShown((before) =>
      before?.space_id === spaceId && before.created_at >= message.created_at ? before : message,
    );
  }

  return {
    /** What `useInfiniteQuery` returns. */
    query,
    /** The loaded messages, oldest first. */
    messages,
    /** Whether they begin with a message that has been read, as far as this can be told. */
    isReady,
    /** The first message of others since the reader was here. It stays while the space is shown. */
    firstUnread,
    /** The newest message that is or was in the visible part of the list. */
    shown,
    show,
    /** Why the messages are no longer followed; null as long as they are. */
    lost,
    ...sending,
  };
}
