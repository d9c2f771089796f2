import { useInfiniteQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useState } from 'react';
import type { Message, Space } from 'space-service';
import {
  listMessagesInfiniteOptions,
  useLiveMessages,
  useReadPosition,
  useUnsentMessages,
} from 'space-service/tanstack-react-query';
import { useProfile } from '../profile.ts';
import { useDraft } from '../ui/draft.ts';
import { Failure } from '../ui/explanation.tsx';
import { useNearView } from '../ui/pages.tsx';
import { Skeletons } from '../ui/skeleton.tsx';
import { formatDay } from '../words.ts';
import { Composer } from './composer.tsx';
import { JoinBar } from './join-bar.tsx';
import { MessageItem } from './message-item.tsx';
import { useScrolling } from './scrolling.ts';
import { UnsentItem } from './unsent-item.tsx';

/** Messages of one author within this time share one header. */
const GROUP_MS = 5 * 60_000;

/** In one or two requests, the first unread message is found: the service counts at most 100. */
const PAGE_SIZE = 50;
const MAX_UNREAD = 100;

interface ConversationProps {
  space: Space;
  /** Called when the reader seems to have lost access, or cannot write any more. */
  onAccessChange: () => void;
}

/** The messages, newest at the bottom, and what can be written below them. */
export function Conversation({ space, onAccessChange }: ConversationProps) {
  const { space_id } = space;
  const messages = useInfiniteQuery({
    ...listMessagesInfiniteOptions({ query: { space_id, limit: PAGE_SIZE } }),
    // They are followed instead.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  const lost = useLiveMessages(space_id);
  useEffect(() => {
    if (lost) onAccessChange();
  }, [lost, onAccessChange]);
  const { unsent, send, sendAgain, discard } = useUnsentMessages(space_id, {
    onError: ({ code }) => {
      if (code === 'not_a_participant') onAccessChange();
    },
  });
  const { draft, change: setDraft } = useDraft(`message ${space_id}`);
  const profile = useProfile();
  const { data } = messages;
  const items = useMemo(() => (data?.pages ?? []).flatMap((page) => page.items).reverse(), [data]);
  const [isReady, setIsReady] = useState(false);
  const { scroller, list, shown, scrollToEnd } = useScrolling(items, isReady);
  const readUntil = useReadPosition(space_id, shown, { enabled: space.participation !== null });
  const { isSuccess, isFetching, hasNextPage, fetchNextPage } = messages;
  useEffect(() => {
    if (isReady || !isSuccess || isFetching || readUntil === undefined) return;
    const isUnreadOnly = readUntil && items[0] && items[0].created_at > readUntil;
    if (isUnreadOnly && hasNextPage && items.length < MAX_UNREAD) void fetchNextPage();
    else setIsReady(true);
  }, [isReady, isSuccess, isFetching, hasNextPage, fetchNextPage, items, readUntil]);
  const top = useNearView(() => {
    if (isReady && hasNextPage && !isFetching) void fetchNextPage();
  });
  const firstUnread = items.find(
    ({ created_at, author }) =>
      readUntil && created_at > readUntil && author.user_id !== profile?.user_id,
  );
  const newest = items.at(-1);
  function sendAtEnd(text: string): void {
    scrollToEnd();
    send(text);
  }
  return (
    <>
      <button
        type="button"
        className="skip-link"
        onClick={() => document.getElementById('after-messages')?.focus()}
      >
        Skip messages
      </button>
      {/* Its first child is at the bottom, so it stays there when messages are added. */}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards need the focus to scroll. */}
      <section ref={scroller} className="scroller" aria-label="Messages" tabIndex={0}>
        <div className="scrolled">
          <p ref={top} className="list-status" role="status">
            {isReady &&
              (hasNextPage ? 'Loading earlier messages …' : 'The beginning of this space.')}
          </p>
          {!isReady && !messages.error && <Skeletons count={5} className="message-skeleton" />}
          {messages.error && (
            <Failure error={messages.error} onRetry={() => void messages.refetch()} />
          )}
          {isReady && items.length + unsent.length === 0 && (
            <p className="empty">Nobody has written here yet. Say hello.</p>
          )}
          <ol ref={list} hidden={!isReady}>
            {items.map((message, index) => (
              <MessageItem
                key={message.message_id}
                message={message}
                space={space}
                day={dayOf(message, items[index - 1])}
                isContinued={message !== firstUnread && isContinued(message, items[index - 1])}
                isFirstUnread={message === firstUnread}
              />
            ))}
            {profile &&
              unsent.map((message) => (
                <UnsentItem
                  key={message.id}
                  message={message}
                  author={profile}
                  onSendAgain={() => sendAgain(message.id)}
                  onEdit={() => {
                    setDraft(message.text);
                    discard(message.id);
                  }}
                />
              ))}
          </ol>
          <Announcement newest={newest} ownId={profile?.user_id} />
        </div>
      </section>
      <section id="after-messages" tabIndex={-1} aria-label="Write">
        {shown && newest && newest.created_at > shown.created_at && (
          <button type="button" className="small newer" onClick={scrollToEnd}>
            New messages
          </button>
        )}
        {space.participation ? (
          <Composer draft={draft} setDraft={setDraft} onSend={sendAtEnd} />
        ) : (
          <JoinBar space={space} />
        )}
      </section>
    </>
  );
}

/** Tells screen readers of new messages of others. */
function Announcement({ newest, ownId }: { newest?: Message; ownId?: string }) {
  const [first] = useState(newest?.created_at ?? new Date().toISOString());
  const isNew = newest && newest.created_at > first && newest.author.user_id !== ownId;
  return (
    <p className="visually-hidden" role="status">
      {isNew && `${newest.author.username}: ${newest.text}`}
    </p>
  );
}

function dayOf(message: Message, previous: Message | undefined): string | null {
  const day = formatDay(message.created_at);
  return previous && formatDay(previous.created_at) === day ? null : day;
}

function isContinued(message: Message, previous: Message | undefined): boolean {
  if (previous?.author.user_id !== message.author.user_id || dayOf(message, previous)) return false;
  return Date.parse(message.created_at) - Date.parse(previous.created_at) < GROUP_MS;
}
