import { useEffect, useState } from 'react';
import type { Message, Space } from 'space-service';
import { useConversation } from 'space-service/tanstack-react-query';
import { useProfile } from '../profile.ts';
import { LastMessage } from '../start/your-spaces.tsx';
import { useDraft } from '../ui/draft.ts';
import { Failure, FormFailure } from '../ui/explanation.tsx';
import { useNearView } from '../ui/pages.tsx';
import { Skeletons } from '../ui/skeleton.tsx';
import { formatDay } from '../words.ts';
import { Composer } from './composer.tsx';
import { JoinBar } from './join-bar.tsx';
import { Mentionable } from './mention-field.tsx';
import { MessageItem } from './message-item.tsx';
import { canWrite } from './rights.ts';
import { useScrolling } from './scrolling.ts';
import { UnsentItem } from './unsent-item.tsx';

/** Messages of one author within this time share one header. */
const GROUP_MS = 5 * 60_000;

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
    messageId: linkedId,
    onError: ({ code }) => {
      if (code === 'not_a_participant') onAccessChange();
    },
  });
  const { query, messages, isReady, firstUnread, missing, lost, shown, show } = conversation;
  const { unsent, send, sendAgain, discard, showNewest } = conversation;
  useEffect(() => {
    if (lost) onAccessChange();
  }, [lost, onAccessChange]);
  const { draft, change: setDraft } = useDraft(`message ${space_id}`);
  const profile = useProfile();
  const [original, setOriginal] = useState<Message | null>(null);
  const { hasNextPage, hasPreviousPage, isFetching, fetchNextPage, fetchPreviousPage } = query;
  const { scroller, list, scrollToEnd, openAtEnd } = useScrolling({
    messages,
    isReady,
    linkedId,
    hasNewer: hasPreviousPage,
    show,
  });
  const top = useNearView(() => {
    if (isReady && hasNextPage && !isFetching) void fetchNextPage();
  });
  const end = useNearView(() => {
    if (isReady && hasPreviousPage && !isFetching) void fetchPreviousPage();
  });
  const newest = messages.at(-1);
  function goToEnd(): void {
    if (hasPreviousPage) openAtEnd();
    else scrollToEnd();
    showNewest();
  }
  function sendAtEnd(text: string): void {
    goToEnd();
    send(text, original);
    setOriginal(null);
  }
  function reply(message: Message): void {
    setOriginal(message);
    document.querySelector<HTMLElement>('#after-messages textarea')?.focus();
  }
  const writers = messages.map(({ author }) => author).reverse();
  return (
    <Mentionable value={{ spaceId: space_id, writers }}>
      {missing && <FormFailure error={missing} />}
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
                onReply={canWrite(space) ? reply : undefined}
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
          <p ref={end} className="list-status">
            {hasPreviousPage && 'Loading later messages …'}
          </p>
          <Announcement newest={newest} ownId={profile?.user_id} />
        </div>
      </section>
      <section id="after-messages" tabIndex={-1} aria-label="Write">
        {(hasPreviousPage || (shown && newest && newest.created_at > shown.created_at)) && (
          <button type="button" className="secondary small newer" onClick={goToEnd}>
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
        {canWrite(space) ? (
          <Composer draft={draft} setDraft={setDraft} onSend={sendAtEnd} />
        ) : space.participation ? (
          <p className="join-bar">Only the creator and the moderators write in this space.</p>
        ) : (
          <JoinBar space={space} />
        )}
      </section>
    </Mentionable>
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
