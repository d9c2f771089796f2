import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Message } from 'space-service';
import { getMessageOptions } from 'space-service/tanstack-react-query';
import { addressOf } from '../navigation.ts';
import { LastMessage } from '../start/your-spaces.tsx';
import { Failure } from '../ui/explanation.tsx';
import { quote } from '../words.ts';
import { MessageText } from './message-text.tsx';

/** The beginning of the message that another one answers, with a link to it. All of it can be read here, too. */
export function Original({ message: { space_id, reply_to } }: { message: Message }) {
  const [isWhole, setIsWhole] = useState(false);
  if (!reply_to) return <p className="hint">Answers a message that has been deleted.</p>;
  const isCut = reply_to.text.endsWith('…');
  return (
    <>
      <p className="original">
        <a href={addressOf('space', { id: space_id, message: reply_to.message_id })}>
          <LastMessage {...reply_to} />
        </a>
      </p>
      {isWhole && <WholeMessage id={reply_to.message_id} />}
      {isCut && (
        <button
          type="button"
          className="secondary small"
          aria-label={`${isWhole ? 'Show less' : 'Show all'} of message ${quote(reply_to.text)}`}
          aria-expanded={isWhole}
          onClick={() => setIsWhole(!isWhole)}
        >
          {isWhole ? 'Show less' : 'Show all'}
        </button>
      )}
    </>
  );
}

function WholeMessage({ id }: { id: string }) {
  const query = useQuery(getMessageOptions({ path: { message_id: id } }));
  const { data: message, error, refetch } = query;
  if (error) return <Failure error={error} onRetry={() => void refetch()} />;
  return (
    <blockquote className="whole-message" aria-busy={!message}>
      {message && <MessageText text={message.text} mentions={message.mentions} />}
    </blockquote>
  );
}
