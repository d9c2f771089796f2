import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { Message } from 'space-service';
import {
  appreciateMessageMutation,
  putMessage,
  withdrawAppreciationMutation,
} from 'space-service/tanstack-react-query';
import { explain } from '../errors.ts';
import { useProfile } from '../profile.ts';
import { Icon } from '../ui/icon.tsx';
import { showNotice } from '../ui/notice.tsx';
import { quantity } from '../words.ts';

/** The appreciations of a message. Shows the own one at once, and takes it back if the request fails. */
export function Appreciation({ message }: { message: Message }) {
  const { message_id, author, appreciation_count, is_appreciated } = message;
  const queryClient = useQueryClient();
  const ownId = useProfile()?.user_id;
  const update = (changed: Message) => putMessage(queryClient, changed);
  const callbacks = {
    onMutate: () =>
      update({
        ...message,
        is_appreciated: !is_appreciated,
        appreciation_count: appreciation_count + (is_appreciated ? -1 : 1),
      }),
    onSuccess: update,
    onError: (error: unknown) => {
      update(message);
      showNotice(explain(error));
    },
  };
  const appreciate = useMutation({ ...appreciateMessageMutation(), ...callbacks });
  const withdraw = useMutation({ ...withdrawAppreciationMutation(), ...callbacks });

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
  const variables = { path: { message_id } };
  return (
    <button
      type="button"
      className="appreciation"
      aria-pressed={is_appreciated}
      onClick={() => (is_appreciated ? withdraw : appreciate).mutate(variables)}
    >
      <Icon name="heart" />
      <span className="visually-hidden">Appreciate</span>
      {appreciation_count > 0 && <span>{appreciation_count}</span>}
    </button>
  );
}
