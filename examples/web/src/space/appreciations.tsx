import { useInfiniteQuery } from '@tanstack/react-query';
import type { Message } from 'space-service';
import { listAppreciationsInfiniteOptions } from 'space-service/tanstack-react-query';
import { UserLink } from '../ui/avatar.tsx';
import { DialogButton } from '../ui/dialog.tsx';
import { Icon } from '../ui/icon.tsx';
import { Pages } from '../ui/pages.tsx';
import { Skeletons } from '../ui/skeleton.tsx';
import { quote } from '../words.ts';

/** A button that shows who appreciates a message. */
export function Appreciations({ message }: { message: Message }) {
  return (
    <DialogButton
      label={<Icon name="person" />}
      name={`Who appreciates message ${quote(message.text)}`}
      className="icon-button"
      title="Appreciated by"
    >
      {(close) => (
        <>
          <Users messageId={message.message_id} />
          <div className="buttons">
            <button type="button" className="secondary" onClick={close}>
              Close
            </button>
          </div>
        </>
      )}
    </DialogButton>
  );
}

function Users({ messageId }: { messageId: string }) {
  const path = { message_id: messageId };
  const appreciations = useInfiniteQuery(listAppreciationsInfiniteOptions({ path }));
  return (
    <Pages
      query={appreciations}
      noun="user"
      className="lines"
      skeleton={<Skeletons count={3} height="2rem" />}
      empty={<p>Nobody any more.</p>}
    >
      {({ user }) => (
        <li key={user.user_id}>
          <UserLink user={user} size={28} />
        </li>
      )}
    </Pages>
  );
}
