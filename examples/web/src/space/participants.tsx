import { useInfiniteQuery, useMutation } from '@tanstack/react-query';
import type { Space, UserSummary } from 'space-service';
import {
  appointModeratorMutation,
  dismissModeratorMutation,
  listParticipantsInfiniteOptions,
  removeParticipantMutation,
} from 'space-service/tanstack-react-query';
import { useProfile } from '../profile.ts';
import { UserLink } from '../ui/avatar.tsx';
import { Confirmation } from '../ui/confirmation.tsx';
import { Icon } from '../ui/icon.tsx';
import { showFailure, showNotice } from '../ui/notice.tsx';
import { Pages } from '../ui/pages.tsx';
import { Skeletons } from '../ui/skeleton.tsx';
import { canModerate } from './rights.ts';

/** Who is in a space. Its creator appoints moderators, and all of these can remove participants. */
export function Participants({ space }: { space: Space }) {
  const { space_id } = space;
  const own = space.participation?.role;
  const ownId = useProfile()?.user_id;
  const removable = own === 'creator' ? ['participant', 'moderator'] : ['participant'];
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
        {({ user, role }) => (
          <li key={user.user_id}>
            <UserLink user={user} size={28} />
            {role === 'creator' && <span className="badge">Creator</span>}
            {role === 'moderator' && <span className="badge">Moderator</span>}
            {own === 'creator' && role === 'participant' && (
              <Appoint spaceId={space_id} user={user} />
            )}
            {own === 'creator' && role === 'moderator' && (
              <Dismiss spaceId={space_id} user={user} />
            )}
            {own === 'moderator' && user.user_id === ownId && (
              <Resign spaceId={space_id} user={user} />
            )}
            {canModerate(space) && user.user_id !== ownId && removable.includes(role) && (
              <Remove spaceId={space_id} user={user} />
            )}
          </li>
        )}
      </Pages>
    </section>
  );
}

interface ParticipantProps {
  spaceId: string;
  user: UserSummary;
}

function Appoint({ spaceId, user }: ParticipantProps) {
  const appointment = useMutation({
    ...appointModeratorMutation(),
    onSuccess: () => showNotice(`${user.username} is a moderator.`),
  });
  return (
    <Confirmation
      label={<Icon name="shield" />}
      name={`Make ${user.username} a moderator`}
      className="icon-button"
      title={`Make ${user.username} a moderator?`}
      consequences="Moderators can delete all messages, and remove and readmit participants."
      confirm="Make moderator"
      cancel="Cancel"
      mutation={appointment}
      variables={{ path: { space_id: spaceId, user_id: user.user_id } }}
    />
  );
}

function Dismiss({ spaceId, user }: ParticipantProps) {
  const dismissal = useMutation({
    ...dismissModeratorMutation(),
    onSuccess: () => showNotice(`${user.username} is no longer a moderator.`),
    onError: showFailure,
  });
  const name = `Dismiss ${user.username} as a moderator`;
  return (
    <button
      type="button"
      className="icon-button"
      aria-label={name}
      title={name}
      onClick={() => dismissal.mutate({ path: { space_id: spaceId, user_id: user.user_id } })}
    >
      <Icon name="shield-cross" />
    </button>
  );
}

function Resign({ spaceId, user }: ParticipantProps) {
  const resignation = useMutation({
    ...dismissModeratorMutation(),
    onSuccess: () => showNotice('You are no longer a moderator.'),
  });
  return (
    <Confirmation
      label={<Icon name="shield-cross" />}
      name="Resign as a moderator"
      className="icon-button"
      title="Resign as a moderator?"
      consequences="You remain a participant. Only the creator can appoint you again."
      confirm="Resign"
      cancel="Stay a moderator"
      mutation={resignation}
      variables={{ path: { space_id: spaceId, user_id: user.user_id } }}
    />
  );
}

function Remove({ spaceId, user }: ParticipantProps) {
  const removal = useMutation({
    ...removeParticipantMutation(),
    onSuccess: () => showNotice(`${user.username} has been removed.`),
  });
  return (
    <Confirmation
      label={<Icon name="person-minus" />}
      name={`Remove ${user.username}`}
      className="icon-button"
      title={`Remove ${user.username}?`}
      consequences="They cannot join again unless you undo it. Their messages stay."
      confirm="Remove"
      cancel="Keep participant"
      mutation={removal}
      variables={{ path: { space_id: spaceId, user_id: user.user_id } }}
    />
  );
}
