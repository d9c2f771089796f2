import { useMutation, useQuery } from '@tanstack/react-query';
import type { Profile } from 'space-service';
import { getProfileOptions, logoutMutation } from 'space-service/tanstack-react-query';
import { openView } from '../navigation.ts';
import { accessToken, endSession } from '../session.ts';
import { Avatar } from '../ui/avatar.tsx';
import { Failure } from '../ui/explanation.tsx';
import { Heading } from '../ui/heading.tsx';
import { showNotice } from '../ui/notice.tsx';
import { Skeletons } from '../ui/skeleton.tsx';
import { formatDate } from '../words.ts';
import { AvatarForm } from './avatar-form.tsx';
import { BioForm } from './bio-form.tsx';
import { DataDownload } from './data-download.tsx';
import { Deletion } from './deletion.tsx';
import { PasswordForm } from './password-form.tsx';
import { Sessions } from './sessions.tsx';
import { UsernameForm } from './username-form.tsx';

/** The profile of the signed-in user, and everything that can be changed about the account. */
export function Account() {
  const { data: profile, error, refetch } = useQuery(getProfileOptions());
  return (
    <div className="account">
      <header className="view-header">
        <Heading title="Your account" />
        <SignOut />
      </header>
      {error && <Failure error={error} onRetry={() => void refetch()} />}
      {!profile && !error && <Skeletons count={4} className="panel-skeleton" />}
      {profile && (
        <>
          <Summary profile={profile} />
          <AvatarForm />
          <BioForm bio={profile.bio} />
          <UsernameForm username={profile.username} />
          <PasswordForm email={profile.email} />
          <Sessions />
          <DataDownload />
          <Deletion />
        </>
      )}
    </div>
  );
}

/** Does not wait for the service, so that people are signed out here even if it cannot be reached. */
function SignOut() {
  const logout = useMutation(logoutMutation({ auth: accessToken() }));
  return (
    <button
      type="button"
      className="secondary"
      onClick={() => {
        logout.mutate({});
        openView('#/');
        endSession();
        showNotice('You are signed out.');
      }}
    >
      Sign out
    </button>
  );
}

function Summary({ profile }: { profile: Profile }) {
  // Only the statistics that this page knows, because later versions of the service can add others.
  const { stats } = profile;
  const statistics = {
    'Spaces created': stats.spaces_created,
    'Active spaces': stats.spaces_participated,
    'Words written': stats.total_words_contributed,
    Appreciations: stats.total_appreciations_received,
  };
  return (
    <section className="panel summary" aria-label="Summary">
      <Avatar user={profile} size={80} />
      <div>
        <p className="profile-name">
          <bdi>{profile.username}</bdi>
          {profile.is_verified && <span className="badge">Verified</span>}
        </p>
        <p className="hint">{profile.email}</p>
        <p className="hint">Member since {formatDate(profile.created_at)}</p>
      </div>
      <dl className="statistics">
        {Object.entries(statistics).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value.toLocaleString('en')}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
