import { useQuery } from '@tanstack/react-query';
import { getMessageOptions } from 'space-service/tanstack-react-query';
import { UserLink } from '../ui/avatar.tsx';
import { Failure } from '../ui/explanation.tsx';
import { LinkedText } from '../ui/linked-text.tsx';
import { formatDate } from '../words.ts';

/** The message of a link, above the conversation, because it can be far from the newest ones. */
export function LinkedMessage({ id }: { id: string }) {
  const query = useQuery(getMessageOptions({ path: { message_id: id } }));
  const { data: message, error, refetch } = query;
  if (error) return <Failure error={error} onRetry={() => void refetch()} />;
  if (!message) return null;
  return (
    <blockquote className="linked-message">
      <p className="hint">
        <UserLink user={message.author} /> on {formatDate(message.created_at)}
      </p>
      <p className="text" dir="auto">
        <LinkedText text={message.text} />
      </p>
    </blockquote>
  );
}
