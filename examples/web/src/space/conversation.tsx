import { useEffect, useState } from 'react';
import type { Message, Space } from 'space-service';
import { useConversation } from 'space-service/tanstack-react-query';
import { useProfile } from '../profile.ts';
import { LastMessage } from '../start/your-spaces.tsx';
import { useDraft } from '../ui/draft.ts';
import { Failure } from '../ui/explanation.tsx';
import { useNearView } from '../ui/pages.tsx';
import { Skeletons } from '../ui/skeleton.tsx';
import { formatDay } from '../words.ts';
import { Composer } from './composer.tsx';
import { JoinBar } from './join-bar.tsx';
import { LinkedMessage } from './linked-message.tsx';
import { MessageItem } from './message-item.tsx';
import { useScrolling } from './scrolling.ts';
import { UnsentItem } from './unsent-item.tsx';

/** Messages of one author within this time share one header. */
const GROUP_MS = 5 * 60_000;

/** A linked message is looked for among this many. An older one is shown above the others. */
const MAX_SEARCHED = 500;

interface ConversationProps {
  space: Space;
  /** The message of a link. */
  linkedId: string | null;
  /** Called when the reader seems to have lost access, or cannot write any more. */
  onAccessChange: () => void;
}

/** The messages, newest at the bottom, and what can be written below them. */
export function Conversation({ space, linkedId, onAccessChange }: ConversationProps) {
  const { space_id } = space;
  const conversation = useConversation(space_id, {
    isParticipant: space.participation !== null,
    onError: ({ code }) => {
      if (code === 'not_a_participant') onAccessChange();
    },
  });
  const { query, messages, isReady, firstUnread, lost, shown, show } = conversation;
  const { unsent, send, sendAgain, discard } = conversation;
  useEffect(() => {
    if (lost) onAccessChange();
  }, [lost, onAccessChange]);
  const { draft, change: setDraft } = useDraft(`message ${space_id}`);
  const profile = useProfile();
  const [original, setOriginal] = useState<Message | null>(null);
  const { scroller, list, scrollToEnd } = useScrolling(messages, isReady, show);
  const isFound = messages.some(({ message_id }) => message_id === linkedId);
  useEffect(() => {
    const element = isReady && isFound && document.getElementById(linkedId ?? '');
    if (!element) return;
    element.scrollIntoView({ block: 'center' });
    element.focus({ preventScroll: true });
  }, [isReady, isFound, linkedId]);
  const { hasNextPage, isFetching, fetchNextPage } = query;
  const isSearching =
    isReady && !!linkedId && !isFound && hasNextPage && messages.length < MAX_SEARCHED;
  useEffect(() => {
    if (isSearching && !isFetching) void fetchNextPage();
  }, [isSearching, isFetching, fetchNextPage]);
  const top = useNearView(() => {
    if (isReady && hasNextPage && !isFetching) void fetchNextPage();
  });
  const newest = messages.at(-1);
  function sendAtEnd(text: string): void {
    scrollToEnd();
    send(text, original);
    setOriginal(null);
  }
  function reply(message: Message): void {
    setOriginal(message);
    document.querySelector<HTMLElement>('#after-messages textarea')?.focus();
  }
  return (
    <>
      {linkedId && !isFound && <LinkedMessage id={linkedId} />}
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
          {!isReady && !query.error && <Skeletons count={5} height="4rem" />}
          {query.error && <Failure error={query.error} onRetry={() => void query.refetch()} />}
          {isReady && messages.length + unsent.length === 0 && (
            <p className="empty">Nobody has written here yet. Say hello.</p>
          )}
          <ol ref={list} hidden={!isReady}>
            {messages.map((message, index) => (
              <MessageItem
                key={message.message_id}
                message={message}
                space={space}
                day={dayOf(message, messages[index - 1])}
                isContinued={message !== firstUnread && isContinued(message, messages[index - 1])}
                isFirstUnread={message === firstUnread}
                isLinked={message.message_id === linkedId}
                onReply={space.participation ? reply : undefined}
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
          <button type="button" className="secondary small newer" onClick={scrollToEnd}>
            New messages
          </button>
        )}
        {original && (
          <p className="original">
            <LastMessage {...original} />
            <button type="button" className="secondary small" onClick={() => setOriginal(null)}>
              Cancel reply
            </button>
          </p>
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
