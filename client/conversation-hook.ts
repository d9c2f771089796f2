import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { getParticipationOptions } from '../generated/@tanstack/react-query.gen.ts';
import type { Message } from '../generated/types.gen.ts';
import type { ApiError } from './errors.ts';
import { isCurrent } from './message-cache.ts';
import { type MessageOptions, useLiveMessages, useUnsentMessages } from './message-hooks.ts';
import { messagesAround } from './messages-around.ts';
import { useReadPosition } from './reading-hook.ts';
import { useUserId } from './session-hooks.ts';

const PAGE_SIZE = 50;

export interface ConversationOptions extends MessageOptions {
  /** Whether the reader participates in the space. Without it, nothing is unread. True by default. */
  isParticipant?: boolean | undefined;
  /** The id of a message to begin with, such as that of a link. By default, the first unread one, or the newest ones. */
  messageId?: string | null | undefined;
}

/** Where the list of a space begins. */
interface Beginning {
  spaceId: string;
  messageId: string | null;
  around: string | undefined;
  /** Whether it was asked to begin with the newest messages. */
  isAtEnd?: boolean;
}

/**
 * Loads, follows, sends and marks the messages of a space. Begins with the messages around a linked one, or around the
 * first unread one. Messages are followed as soon as the newest ones are loaded.
 */
export function useConversation(spaceId: string, options: ConversationOptions = {}) {
  const { isParticipant = true, messageId = null, client, onError } = options;
  const queryClient = useQueryClient();
  const [shown, setShown] = useState<Message>();
  const readUntil = useReadPosition(spaceId, shown, { enabled: isParticipant, client });
  const [beginning, setBeginning] = useState<Beginning>();
  const isBegun = beginning?.spaceId === spaceId;
  const around = isBegun ? beginning.around : undefined;
  const query = useInfiniteQuery({
    ...messagesAround(queryClient, { spaceId, around, limit: PAGE_SIZE, client }),
    enabled: isBegun,
    // They are followed instead.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  const lost = useLiveMessages(spaceId, { client });
  const { send, ...sending } = useUnsentMessages(spaceId, { client, onError });
  const userId = useUserId();

  const { data, isSuccess, hasNextPage, error } = query;
  const messages = useMemo(
    () => (data?.pages ?? []).flatMap(({ items }) => items).reverse(),
    [data],
  );
  const isReady = isBegun && isSuccess;
  if (readUntil !== undefined && !(isBegun && beginning.messageId === messageId)) {
    const isLoaded = isReady && messages.some(({ message_id }) => message_id === messageId);
    const isKept = isBegun && (isLoaded || messageId === null);
    const next = { spaceId, messageId, around: messageId ?? firstUnreadTime() };
    setBeginning(isKept ? { ...beginning, messageId } : next);
  }
  // The linked message may have been deleted.
  const [missing, setMissing] = useState<{ messageId: string; error: ApiError }>();
  if (
    isBegun &&
    error?.code === 'message_not_found' &&
    messageId !== null &&
    around === messageId
  ) {
    setMissing({ messageId, error });
    setBeginning({ ...beginning, around: firstUnreadTime() });
  }

  const unreadIndex = messages.findIndex(
    ({ created_at, author }) => readUntil && created_at > readUntil && author.user_id !== userId,
  );
  // The number of unread messages in the cache can be outdated. Then, the newest page begins after the first of them. Those
  // that the user has sent elsewhere are not unread.
  const isNewestPage = isReady && around === undefined && data.pages.length === 1 && hasNextPage;
  const [first] = messages;
  const isAfterRead = readUntil && first && first.created_at > readUntil && unreadIndex !== -1;
  if (isNewestPage && !beginning.isAtEnd && isAfterRead) {
    setBeginning({ ...beginning, around: readUntil });
  }

  function firstUnreadTime(): string | undefined {
    const path = { space_id: spaceId };
    const { queryKey } = getParticipationOptions({ client, path });
    const participation = queryClient.getQueryData(queryKey);
    return participation?.unread_count ? (readUntil ?? undefined) : undefined;
  }

  // Without an earlier message, others can be unread that are not loaded.
  const firstUnread = unreadIndex > 0 || !hasNextPage ? messages[unreadIndex] : undefined;

  /** Tells which message is the newest in the visible part of the list. It counts as read after a moment. */
  function show(message: Message): void {
    setShown((before) =>
      before?.space_id === spaceId && before.created_at >= message.created_at ? before : message,
    );
  }

  /** Loads the newest messages, if others remain to be loaded before them. */
  function showNewest(): void {
    if (isBegun && data && !isCurrent(data))
      setBeginning({ ...beginning, around: undefined, isAtEnd: true });
  }

  return {
    /** What `useInfiniteQuery` returns. The next page has earlier messages, and the previous page newer ones. */
    query,
    /** The loaded messages, oldest first. */
    messages,
    /** Whether the messages are loaded with which the list begins. */
    isReady,
    /** The first message of others since the reader was here. It stays while the space is shown. */
    firstUnread,
    /** Why the message with `messageId` cannot be shown; null if it can. */
    missing: missing?.messageId === messageId ? missing.error : null,
    /** The newest message that is or was in the visible part of the list. */
    shown,
    show,
    showNewest,
    /** Why the messages are no longer followed; null as long as they are. */
    lost,
    ...sending,
    /** Sends a message, and shows the newest ones. See {@link useUnsentMessages}. */
    send(...message: Parameters<typeof send>): void {
      showNewest();
      send(...message);
    },
  };
}
