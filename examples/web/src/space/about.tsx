import { useMutation, useQuery } from '@tanstack/react-query';
import type { Space } from 'space-service';
import {
  deleteSpaceMutation,
  getParticipationOptions,
  reportSpaceMutation,
  updateParticipationMutation,
  useParticipation,
  withdrawSpaceReportMutation,
} from 'space-service/tanstack-react-query';
import { openView } from '../navigation.ts';
import { useProfile } from '../profile.ts';
import { Tags } from '../start/space-row.tsx';
import { UserLink } from '../ui/avatar.tsx';
import { Confirmation } from '../ui/confirmation.tsx';
import { LinkedText } from '../ui/linked-text.tsx';
import { showConfirmation, showFailure } from '../ui/notice.tsx';
import { formatDate } from '../words.ts';
import { EditSpace } from './edit-space.tsx';
import { Invitation } from './invitation.tsx';
import { Participants } from './participants.tsx';
import { Removals } from './removals.tsx';
import { ReportButton } from './report-button.tsx';
import { Reports } from './reports.tsx';
import { canModerate } from './rights.ts';

/** What a space is about, who is in it, and what can be done with it. */
export function About({ space }: { space: Space }) {
  const { space_id, creator } = space;
  const ownId = useProfile()?.user_id;
  return (
    <aside className="about" aria-label="About this space">
      <section aria-label="Description">
        <p className="text" dir="auto">
          <LinkedText text={space.description || 'No description.'} />
        </p>
        <Tags tags={space.tags} />
        <p className="hint">
          Created by <UserLink user={creator} /> on {formatDate(space.created_at)}
        </p>
      </section>
      {space.invitation_code && <Invitation space={space} code={space.invitation_code} />}
      {ownId && (
        <section className="buttons" aria-label="Actions">
          {space.participation && <Mute spaceId={space_id} />}
          {space.participation?.role === 'creator' ? (
            <>
              <EditSpace space={space} />
              <DeleteSpace space={space} />
            </>
          ) : (
            <>
              {space.participation && <LeaveSpace space={space} />}
              <ReportSpace space={space} />
            </>
          )}
        </section>
      )}
      {/* After the actions, because the list can be long. */}
      {ownId && <Participants space={space} />}
      {canModerate(space) && <Reports spaceId={space_id} />}
      {canModerate(space) && <Removals spaceId={space_id} />}
    </aside>
  );
}

function Mute({ spaceId }: { spaceId: string }) {
  const path = { space_id: spaceId };
  const { data: participation } = useQuery(getParticipationOptions({ path }));
  const update = useMutation({ ...updateParticipationMutation(), onError: showFailure });
  if (!participation) return null;
  const { muted } = participation;
  return (
    <button
      type="button"
      className="secondary small"
      title="Unread messages of a muted space are not counted"
      onClick={() => update.mutate({ path, body: { muted: !muted } })}
    >
      {muted ? 'Unmute space' : 'Mute space'}
    </button>
  );
}

function LeaveSpace({ space: { space_id, visibility } }: { space: Space }) {
  const { leave } = useParticipation(space_id, {
    onSuccess: () => {
      if (visibility !== 'public') openView('#/');
    },
    onError: showFailure,
  });
  return (
    <Confirmation
      label="Leave space"
      className="secondary small"
      title="Leave this space?"
      consequences={
        visibility === 'public'
          ? 'Your messages stay. You can join again at any time.'
          : 'Your messages stay. To join again, you need an invitation.'
      }
      confirm="Leave"
      cancel="Stay"
      mutation={leave}
      variables={{ path: { space_id } }}
    />
  );
}

function ReportSpace({ space: { space_id } }: { space: Space }) {
  const report = useMutation({ ...reportSpaceMutation(), onSuccess: showConfirmation });
  const withdrawal = useMutation({
    ...withdrawSpaceReportMutation(),
    onSuccess: showConfirmation,
    onError: showFailure,
  });
  return (
    <ReportButton
      label="Report space"
      className="secondary small"
      mutation={report}
      variables={(body) => ({ path: { space_id }, body })}
      readers="The moderators of the space see the reason, but not your name. Its creator does not."
      withdrawal={withdrawal}
      target={{ path: { space_id } }}
    />
  );
}

function DeleteSpace({ space: { space_id } }: { space: Space }) {
  const deletion = useMutation({
    ...deleteSpaceMutation(),
    onSuccess: (confirmation) => {
      openView('#/');
      showConfirmation(confirmation);
    },
  });
  return (
    <Confirmation
      label="Delete space …"
      className="secondary small danger-text"
      title="Delete this space?"
      consequences="All its messages are deleted, too, also those of others. This cannot be undone."
      confirm="Delete"
      cancel="Keep space"
      mutation={deletion}
      variables={{ path: { space_id } }}
    />
  );
}
