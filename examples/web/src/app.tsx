import { useEffect } from 'react';
import { useUserId } from 'space-service/tanstack-react-query';
import { Account } from './account/account.tsx';
import { ForgotPassword } from './account/forgot-password.tsx';
import { ResetPassword } from './account/reset-password.tsx';
import { ExpiredSession, SignIn } from './account/sign-in.tsx';
import { SignUp } from './account/sign-up.tsx';
import { UserProfile } from './account/user-profile.tsx';
import { VerifyEmail } from './account/verify-email.tsx';
import { type Address, askToSignIn, useAddress } from './navigation.ts';
import { useIsSignedIn } from './session.ts';
import { SiteHeader } from './site-header.tsx';
import { NewSpace } from './space/new-space.tsx';
import { SpaceView } from './space/space-view.tsx';
import { Spaces } from './start/spaces.tsx';
import { Start } from './start/start.tsx';
import { YourSpaces } from './start/your-spaces.tsx';
import { Heading } from './ui/heading.tsx';
import { Notice } from './ui/notice.tsx';
import { OfflineBanner } from './ui/offline-banner.tsx';

export function App() {
  const address = useAddress();
  // Without the part after `?`, except what the view is about.
  const view = `${address.path} ${address.parameters.get('id')}`;
  return (
    <>
      {/* biome-ignore lint/a11y/useValidAnchor: it is a link to a part of the page. */}
      <a
        className="skip-link"
        href="#main"
        onClick={(event) => {
          // `#main` is not the address of a view.
          event.preventDefault();
          document.getElementById('main')?.focus();
        }}
      >
        Skip to content
      </a>
      <SiteHeader />
      <OfflineBanner />
      {/* Another user begins with new views, so that none shows anything of an earlier account. */}
      <main id="main" tabIndex={-1} key={useUserId()}>
        <View key={view} {...address} />
      </main>
      <ExpiredSession />
      <Notice />
    </>
  );
}

function View({ path, parameters }: Address) {
  const id = parameters.get('id') ?? '';
  switch (path) {
    case 'spaces':
      return <Spaces parameters={parameters} />;
    case 'space':
      return <SpaceView id={id} parameters={parameters} />;
    case 'sign-in':
      return <SignIn back={parameters.get('back')} />;
    case 'sign-up':
      return <SignUp back={parameters.get('back')} />;
    case 'forgot-password':
      return <ForgotPassword />;
    case 'reset-password':
      return <ResetPassword token={parameters.get('token') ?? ''} />;
    case 'verify-email':
      return <VerifyEmail token={parameters.get('token') ?? ''} />;
    case 'your-spaces':
      return <SignedIn view={<YourSpaces />} />;
    case 'new-space':
      return <SignedIn view={<NewSpace />} />;
    case 'profile':
      return <SignedIn view={<Account section={parameters.get('section')} />} />;
    case 'user':
      return <SignedIn view={<UserProfile id={id} />} />;
    case '':
      return <Start parameters={parameters} />;
    default:
      return <Missing />;
  }
}

/** Of an address that is mistyped or not complete. */
function Missing() {
  return (
    <div className="narrow">
      <Heading title="There is no such page" />
      <p className="empty">
        The address may be incomplete. <a href="#/">Go to the start page.</a>
      </p>
    </div>
  );
}

/** Shows a view that needs a session. */
function SignedIn({ view }: { view: React.ReactNode }) {
  const isSignedIn = useIsSignedIn();
  useEffect(() => {
    if (!isSignedIn) askToSignIn();
  }, [isSignedIn]);
  return isSignedIn && view;
}
