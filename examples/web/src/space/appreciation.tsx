import type { Message } from 'space-service';
import { useAppreciation } from 'space-service/tanstack-react-query';
import { useProfile } from '../profile.ts';
import { Icon } from '../ui/icon.tsx';
import { showFailure } from '../ui/notice.tsx';
import { quantity, quote } from '../words.ts';

/** The appreciations of a message. Shows the own one at once, and takes it back if the request fails. */
export function Appreciation({ message }: { message: Message }) {
  const { author, appreciation_count, is_appreciated } = message;
  const ownId = useProfile()?.user_id;
  const toggle = useAppreciation(message, { onError: showFailure });

  if (!ownId || ownId === author.user_id) {
    if (appreciation_count === 0) return null;
    return (
      <p className="appreciation">
        <Icon name="heart" />
        <span className="visually-hidden">{quantity(appreciation_count, 'appreciation')}</span>
        <span aria-hidden="true">{appreciation_count}</span>
      </p>
    );
  }
  return (
    <button type="button" className="appreciation" aria-pressed={is_appreciated} onClick={toggle}>
      <Icon name="heart" />
      <span className="visually-hidden">Appreciate {quote(message.text)}</span>
      {appreciation_count > 0 && <span>{appreciation_count}</span>}
    </button>
  );
}
