import type { Message, UserSummary } from 'space-service';
import { UserLink } from '../ui/avatar.tsx';
import { LinkedText } from '../ui/linked-text.tsx';
import { namesIn } from './mentioned-names.ts';

interface MessageTextProps {
  text: string;
  mentions: Message['mentions'];
}

/** The text of a message, with links to the users whom it mentions. */
export function MessageText({ text, mentions }: MessageTextProps) {
  // A user who has another name now is not in the text.
  const parts = namesIn(text, mentions);
  const renamed = mentions.filter((user) => !parts.includes(user));
  return (
    <>
      <p className="text" dir="auto">
        {parts.map((part, index) =>
          typeof part === 'string' ? (
            // biome-ignore lint/suspicious/noArrayIndexKey: the parts never change their order.
            <LinkedText key={index} text={part} />
          ) : (
            // biome-ignore lint/suspicious/noArrayIndexKey: the parts never change their order.
            <Mention key={index} user={part} />
          ),
        )}
      </p>
      {renamed.length > 0 && (
        <p className="hint">
          Mentions{' '}
          {renamed.map((user) => (
            <Mention key={user.user_id} user={user} />
          ))}
        </p>
      )}
    </>
  );
}

function Mention({ user }: { user: UserSummary }) {
  return (
    <span className="mention">
      @<UserLink user={user} />
    </span>
  );
}
