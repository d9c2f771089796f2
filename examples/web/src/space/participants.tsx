import { useInfiniteQuery, useMutation } from '@tanstack/react-query';
import type { Space, UserSummary } from 'space-service';
import {
  listParticipantsInfiniteOptions,
  removeParticipantMutation,
} from 'space-service/tanstack-react-query';
import { UserLink } from '../ui/avatar.tsx';
import { Confirmation } from '../ui/confirmation.tsx';
import { showNotice } from '../ui/notice.tsx';
import { Pages } from '../ui/pages.tsx';
import { Skeletons } from '../ui/skeleton.tsx';

/** Who is in a space. Its creator can remove others. */
export function Participants({ space, isCreator }: { space: Space; isCreator: boolean }) {
  const { space_id, creator } = space;
  const participants = useInfiniteQuery(listParticipantsInfiniteOptions({ query: { space_id } }));
  return (
    <section aria-label="Participants">
      <h2>Participants</h2>
      <Pages
        query={participants}
        noun="participant"
        className="lines"
        skeleton={<Skeletons count={3} height="2rem" />}
        empty={null}
      >
        {({ user }) => (
          <li key={user.user_id}>
            <UserLink user={user} size={28} />
            {user.user_id === creator.user_id && <span className="badge">Creator</span>}
            {isCreator && user.user_id !== creator.user_id && (
              <Remove spaceId={space_id} user={user} />
            )}
          </li>
        )}
      </Pages>
    </section>
  );
}

function Remove({ spaceId, user }: { spaceId: string; user: UserSummary }) {
  const removal = useMutation({
    ...removeParticipantMutation(),
    onSuccess: () => showNotice(`${user.username} has been removed.`),
  });
  return (
    <Confirmation
      label="Remove"
      name={`Remove ${user.username}`}
      className="secondary small"
      title={`Remove ${user.username}?`}
      consequences="They cannot join again unless you undo it. Their messages stay."
      confirm="Remove"
      cancel="Keep participant"
      mutation={removal}
      variables={{ path: { space_id: spaceId, user_id: user.user_id } }}
    />
  );
}
