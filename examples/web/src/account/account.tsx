import { useMutation, useQuery } from '@tanstack/react-query';
import { getProfileOptions, logoutMutation } from 'space-service/tanstack-react-query';
import { addressOf, openView } from '../navigation.ts';
import { session } from '../session.ts';
import { Failure } from '../ui/explanation.tsx';
import { Heading } from '../ui/heading.tsx';
import { showNotice } from '../ui/notice.tsx';
import { Panel } from '../ui/panel.tsx';
import { Skeletons } from '../ui/skeleton.tsx';
import { AvatarForm } from './avatar-form.tsx';
import { BioForm } from './bio-form.tsx';
import { Blocks } from './blocks.tsx';
import { DataDownload } from './data-download.tsx';
import { Deletion } from './deletion.tsx';
import { EmailForm } from './email-form.tsx';
import { PasswordForm } from './password-form.tsx';
import { Sessions } from './sessions.tsx';
import { Summary } from './summary.tsx';
import { Tokens } from './tokens.tsx';
import { UsernameForm } from './username-form.tsx';

const SECTIONS = { profile: 'Profile', security: 'Security', data: 'Your data' };

/** Everything that can be changed about the account, in sections with their own addresses. */
export function Account({ section }: { section: string | null }) {
  const { data: profile, error, refetch } = useQuery(getProfileOptions());
  const shown = section !== null && Object.hasOwn(SECTIONS, section) ? section : 'profile';
  return (
    <div className="column">
      <header className="view-header">
        <Heading title="Your account" />
        <SignOut />
      </header>
      <nav aria-label="Sections of your account">
        {Object.entries(SECTIONS).map(([id, name]) => (
          <a
            key={id}
            href={addressOf('profile', { section: id })}
            aria-current={shown === id ? 'page' : undefined}
          >
            {name}
          </a>
        ))}
      </nav>
      {error && <Failure error={error} onRetry={() => void refetch()} />}
      {!profile && !error && <Skeletons count={4} height="11rem" />}
      {profile && shown === 'profile' && (
        <>
          <Summary profile={profile} />
          <Panel title="What other users see">
            <AvatarForm />
            <UsernameForm username={profile.username} />
            <BioForm bio={profile.bio} />
          </Panel>
        </>
      )}
      {profile && shown === 'security' && (
        <>
          <EmailForm profile={profile} />
          <PasswordForm email={profile.email} />
          <Sessions />
          <Tokens />
          <Blocks />
        </>
      )}
      {profile && shown === 'data' && (
        <>
          <DataDownload />
          <Deletion />
        </>
      )}
    </div>
  );
}

/** Does not wait for the service, so that people are signed out here even if it cannot be reached. */
function SignOut() {
  const logout = useMutation(logoutMutation({ auth: session.token() }));
  return (
    <button
      type="button"
      className="secondary"
      onClick={() => {
        logout.mutate({});
        openView('#/');
        session.end();
        showNotice('You are signed out.');
      }}
    >
      Sign out
    </button>
  );
}
