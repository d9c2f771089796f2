import type { UserSummary } from 'space-service';
import type { UnsentMessage } from 'space-service/tanstack-react-query';
import { explain } from '../errors.ts';
import { UserLink } from '../ui/avatar.tsx';

interface UnsentItemProps {
  message: UnsentMessage;
  author: UserSummary;
  onSendAgain: () => void;
  onEdit: () => void;
}

/** A message that the service has not confirmed. */
export function UnsentItem({ message, author, onSendAgain, onEdit }: UnsentItemProps) {
  const { text, error, waitsFor } = message;
  const status = waitsFor ? `Waiting to be sent. ${explain(waitsFor)}` : 'Sending …';
  return (
    <li>
      <article className="message unsent" data-failed={!!error}>
        <p className="message-header">
          <UserLink user={author} size={36} />{' '}
          <span className="hint">{error ? 'Not sent' : status}</span>
        </p>
        <p className="text" dir="auto">
          {text}
        </p>
        {(error ?? waitsFor) && (
          <div role={error ? 'alert' : undefined} className="unsent-failure">
            {error && <p className="field-error">{explain(error)}</p>}
            <p className="buttons">
              {error?.isTemporary && (
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
