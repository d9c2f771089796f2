import type { UserSummary } from 'space-service';
import type { UnsentMessage } from 'space-service/tanstack-react-query';
import { explain, isTemporary } from '../errors.ts';
import { UserLink } from '../ui/avatar.tsx';

interface UnsentItemProps {
  message: UnsentMessage;
  author: UserSummary;
  onSendAgain: () => void;
  onEdit: () => void;
}

/** A message that the service has not confirmed. */
export function UnsentItem({ message, author, onSendAgain, onEdit }: UnsentItemProps) {
  const { text, error } = message;
  return (
    <li>
      <article className="message unsent" data-failed={!!error}>
        <p className="message-header">
          <UserLink user={author} size={36} />{' '}
          <span className="hint">{error ? 'Not sent' : 'Sending …'}</span>
        </p>
        <p className="text" dir="auto">
          {text}
        </p>
        {!!error && (
          <div role="alert" className="unsent-failure">
            <p className="field-error">{explain(error)}</p>
            <p className="buttons">
              {isTemporary(error) && (
                <button type="button" className="secondary small" onClick={onSendAgain}>
                  Send again
                </button>
              )}
              <button type="button" className="secondary small" onClick={onEdit}>
                Edit
              </button>
            </p>
          </div>
        )}
      </article>
    </li>
  );
}
