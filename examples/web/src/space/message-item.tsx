import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import type { Message, Space } from 'space-service';
import {
  deleteMessageMutation,
  reportMessageMutation,
  withdrawMessageReportMutation,
} from 'space-service/tanstack-react-query';
import { addressOf } from '../navigation.ts';
import { useProfile } from '../profile.ts';
import { UserLink } from '../ui/avatar.tsx';
import { Confirmation } from '../ui/confirmation.tsx';
import { Icon } from '../ui/icon.tsx';
import { showConfirmation, showFailure } from '../ui/notice.tsx';
import { formatTime, quote } from '../words.ts';
import { Appreciation } from './appreciation.tsx';
import { Appreciations } from './appreciations.tsx';
import { MessageText } from './message-text.tsx';
import { Original } from './original.tsx';
import { OwnText } from './own-text.tsx';
import { ReportButton } from './report-button.tsx';
import { canModerate, canWrite } from './rights.ts';

interface MessageItemProps {
  message: Message;
  space: Space;
  /** Shown above the first message of a day. */
  day: string | null;
  /** Whether the message before has the same author. */
  isContinued: boolean;
  isFirstUnread: boolean;
  /** Whether a link leads here. */
  isLinked: boolean;
  /** Begins an answer; missing if the reader cannot write. */
  onReply: ((message: Message) => void) | undefined;
}

export function MessageItem(props: MessageItemProps) {
  const { message, space, day, isContinued, isFirstUnread, isLinked, onReply } = props;
  const { author, text, created_at, edited_at } = message;
  const isPlain = message.appreciation_count === 0;
  const isOwn = useProfile()?.user_id === author.user_id;
  const [isEdited, setIsEdited] = useState(false);
  const startEdit = () => setIsEdited(true);
  const [isRevealed, setIsRevealed] = useState(false);
  const isHidden = message.is_blocked && !isRevealed;
  return (
    <li>
      {day && <p className="day">{day}</p>}
      {isFirstUnread && <p className="day unread">New</p>}
      {/* Without a mouse, a tap moves the focus here, which shows the toolbar. */}
      <article
        id={message.message_id}
        className={isContinued ? 'message continued' : 'message'}
        data-linked={isLinked}
        tabIndex={-1}
      >
        <p className="message-header">
          <span className={isContinued ? 'visually-hidden' : undefined}>
            <UserLink user={author} size={36} />
          </span>{' '}
          <time dateTime={created_at} title={new Date(created_at).toLocaleString('en')}>
            {formatTime(created_at)}
          </time>
          {edited_at && (
            <>
              {' '}
              <span title={new Date(edited_at).toLocaleString('en')}>edited</span>
            </>
          )}
        </p>
        {message.is_reply && <Original message={message} />}
        {isHidden ? (
          <p className="hint">
            You have blocked the author.{' '}
            <button
              type="button"
              className="secondary small"
              aria-label={`Show the message of ${author.username}`}
              onClick={() => setIsRevealed(true)}
            >
              Show
            </button>
          </p>
        ) : isOwn ? (
          <OwnText
            message={message}
            isEdited={isEdited}
            onEdit={startEdit}
            onEnd={() => setIsEdited(false)}
          />
        ) : (
          <MessageText text={text} mentions={message.mentions} />
        )}
        {/* The toolbar is shown when the mouse is over the message, or the focus in it. */}
        <div className={isPlain ? 'message-footer toolbar' : 'message-footer'}>
          <Appreciation message={message} />
          <Actions
            message={message}
            space={space}
            className={isPlain ? '' : 'toolbar'}
            onEdit={startEdit}
            onReply={onReply}
          />
        </div>
      </article>
    </li>
  );
}

interface ActionsProps {
  message: Message;
  space: Space;
  className: string;
  onEdit: () => void;
  onReply: MessageItemProps['onReply'];
}

function Actions({ message, space, className, onEdit, onReply }: ActionsProps) {
  const { message_id, space_id, author } = message;
  const ownId = useProfile()?.user_id;
  const deletion = useMutation({ ...deleteMessageMutation(), onSuccess: showConfirmation });
  const report = useMutation({ ...reportMessageMutation(), onSuccess: showConfirmation });
  const withdrawal = useMutation({
    ...withdrawMessageReportMutation(),
    onSuccess: showConfirmation,
    onError: showFailure,
  });
  const quoted = quote(message.text);
  const canDelete = ownId === author.user_id || canModerate(space);
  return (
    <div className={`message-actions ${className}`}>
      <a
        className="icon-button"
        href={addressOf('space', { id: space_id, message: message_id })}
        aria-label={`Link to message ${quoted}`}
        title="Link to this message"
      >
        <Icon name="link" />
      </a>
      {onReply && (
        <button
          type="button"
          className="icon-button"
          aria-label={`Reply to message ${quoted}`}
          title="Reply to this message"
          onClick={() => onReply(message)}
        >
          <Icon name="reply" />
        </button>
      )}
      {ownId && message.appreciation_count > 0 && <Appreciations message={message} />}
      {ownId && ownId !== author.user_id && (
        <ReportButton
          label={<Icon name="flag" />}
          name={`Report message ${quoted}`}
          className="icon-button"
          mutation={report}
          variables={(body) => ({ path: { message_id }, body })}
          readers="The creator and the moderators of the space see the reason, but not your name."
          withdrawal={withdrawal}
          target={{ path: { message_id } }}
        />
      )}
      {ownId === author.user_id && canWrite(space) && (
        <button
          type="button"
          className="icon-button"
          aria-label={`Edit message ${quoted}`}
          title="Edit this message"
          onClick={onEdit}
        >
          <Icon name="pencil" />
        </button>
      )}
      {canDelete && (
        <Confirmation
          label={<Icon name="trash" />}
          name={`Delete message ${quoted}`}
          className="icon-button"
          title="Delete this message?"
          consequences="Nobody can read it any more. This cannot be undone."
          confirm="Delete"
          cancel="Keep message"
          mutation={deletion}
          variables={{ path: { message_id } }}
        />
      )}
    </div>
  );
}
