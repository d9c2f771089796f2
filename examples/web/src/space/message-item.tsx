import { useMutation } from '@tanstack/react-query';
import type { Message, Space } from 'space-service';
import {
  deleteMessageMutation,
  editMessageMutation,
  reportMessageMutation,
} from 'space-service/tanstack-react-query';
import { addressOf } from '../navigation.ts';
import { useProfile } from '../profile.ts';
import { UserLink } from '../ui/avatar.tsx';
import { Confirmation } from '../ui/confirmation.tsx';
import { DialogButton } from '../ui/dialog.tsx';
import { Field, Form, textsOf } from '../ui/form.tsx';
import { Icon } from '../ui/icon.tsx';
import { LinkedText } from '../ui/linked-text.tsx';
import { showConfirmation } from '../ui/notice.tsx';
import { formatTime, quote } from '../words.ts';
import { Appreciation } from './appreciation.tsx';
import { Appreciations } from './appreciations.tsx';
import { ReportButton } from './report-button.tsx';

interface MessageItemProps {
  message: Message;
  space: Space;
  /** Shown above the first message of a day. */
  day: string | null;
  /** Whether the message before has the same author. */
  isContinued: boolean;
  isFirstUnread: boolean;
}

export function MessageItem(props: MessageItemProps) {
  const { message, space, day, isContinued, isFirstUnread } = props;
  const { author, text, created_at, edited_at } = message;
  const isPlain = message.appreciation_count === 0;
  return (
    <li>
      {day && <p className="day">{day}</p>}
      {isFirstUnread && <p className="day unread">New</p>}
      {/* Without a mouse, a tap moves the focus here, which shows the toolbar. */}
      <article className={isContinued ? 'message continued' : 'message'} tabIndex={-1}>
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
        <p className="text" dir="auto">
          <LinkedText text={text} />
        </p>
        {/* The toolbar is shown when the mouse is over the message, or the focus in it. */}
        <div className={isPlain ? 'message-footer toolbar' : 'message-footer'}>
          <Appreciation message={message} />
          <Actions message={message} space={space} className={isPlain ? '' : 'toolbar'} />
        </div>
      </article>
    </li>
  );
}

interface ActionsProps {
  message: Message;
  space: Space;
  className: string;
}

function Actions({ message, space, className }: ActionsProps) {
  const { message_id, space_id, author } = message;
  const ownId = useProfile()?.user_id;
  const deletion = useMutation({ ...deleteMessageMutation(), onSuccess: showConfirmation });
  const report = useMutation({ ...reportMessageMutation(), onSuccess: showConfirmation });
  const quoted = quote(message.text);
  const canDelete = ownId === author.user_id || ownId === space.creator.user_id;
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
      {ownId && message.appreciation_count > 0 && <Appreciations message={message} />}
      {ownId && ownId !== author.user_id && (
        <ReportButton
          label={<Icon name="flag" />}
          name={`Report message ${quoted}`}
          className="icon-button"
          mutation={report}
          variables={(body) => ({ path: { message_id }, body })}
        />
      )}
      {ownId === author.user_id && (
        <DialogButton
          label={<Icon name="pencil" />}
          name={`Edit message ${quoted}`}
          className="icon-button"
          title="Edit message"
        >
          {(close) => <EditForm message={message} onClose={close} />}
        </DialogButton>
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

function EditForm({ message, onClose }: { message: Message; onClose: () => void }) {
  const { message_id, text } = message;
  const edit = useMutation(editMessageMutation());
  return (
    <Form
      mutation={edit}
      submit="Save"
      variables={(fields) => ({ path: { message_id }, body: textsOf(fields, 'text') })}
      onClose={onClose}
      cancel="Cancel"
    >
      <Field label="Text" name="text" rows={4} defaultValue={text} limit={{ max: 2000 }} />
    </Form>
  );
}
