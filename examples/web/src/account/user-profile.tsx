import { useInfiniteQuery, useMutation, useQuery } from '@tanstack/react-query';
import {
  getUserOptions,
  listUserSpacesInfiniteOptions,
  reportUserMutation,
  withdrawUserReportMutation,
} from 'space-service/tanstack-react-query';
import { useProfile } from '../profile.ts';
import { ReportButton } from '../space/report-button.tsx';
import { SpaceRow } from '../start/space-row.tsx';
import { Avatar } from '../ui/avatar.tsx';
import { Failure } from '../ui/explanation.tsx';
import { Heading } from '../ui/heading.tsx';
import { LinkedText } from '../ui/linked-text.tsx';
import { showConfirmation, showFailure } from '../ui/notice.tsx';
import { Pages } from '../ui/pages.tsx';
import { Skeletons } from '../ui/skeleton.tsx';
import { formatDate } from '../words.ts';
import { BlockButton } from './block-button.tsx';

/** What other users see of an account. */
export function UserProfile({ id }: { id: string }) {
  const { data: user, error, refetch } = useQuery(getUserOptions({ path: { user_id: id } }));
  const ownId = useProfile()?.user_id;
  const isYou = ownId === id;
  return (
    <div className="column">
      <header className="user-header">
        {user && <Avatar user={user} size={96} />}
        <div>
          <Heading title={user?.username ?? 'User'} />
          {user && <p className="hint">Member since {formatDate(user.created_at)}</p>}
          {isYou && <a href="#/profile">Edit your profile</a>}
          {ownId && !isYou && user && (
            <p className="buttons">
              <BlockButton user={user} isBlocked={user.is_blocked} />
              <ReportUser id={id} />
            </p>
          )}
        </div>
      </header>
      {error && <Failure error={error} onRetry={() => void refetch()} />}
      {!user && !error && <Skeletons count={1} height="11rem" />}
      {user && (
        <p className={user.bio ? 'text' : 'empty'} dir="auto">
          <LinkedText text={user.bio || 'This user has not written a bio yet.'} />
        </p>
      )}
      {user && <SpacesOf id={id} />}
    </div>
  );
}

function ReportUser({ id }: { id: string }) {
  const report = useMutation({ ...reportUserMutation(), onSuccess: showConfirmation });
  const withdrawal = useMutation({
    ...withdrawUserReportMutation(),
    onSuccess: showConfirmation,
    onError: showFailure,
  });
  return (
    <ReportButton
      label="Report user"
      className="secondary small"
      mutation={report}
      variables={(body) => ({ path: { user_id: id }, body })}
      withdrawal={withdrawal}
      target={{ path: { user_id: id } }}
    />
  );
}

/** The public spaces that a user has created, newest first. */
function SpacesOf({ id }: { id: string }) {
  const spaces = useInfiniteQuery(listUserSpacesInfiniteOptions({ path: { user_id: id } }));
  return (
    <section aria-label="Spaces">
      <h2>Spaces</h2>
      <Pages
        query={spaces}
        noun="space"
        skeleton={<Skeletons count={3} height="7rem" />}
        empty={<p className="empty">This user has not created a public space yet.</p>}
      >
        {(space) => <SpaceRow key={space.space_id} space={space} />}
      </Pages>
    </section>
  );
}
