import { addressOf, useAddress } from './navigation.ts';
import { useProfile } from './profile.ts';
import { useIsSignedIn } from './session.ts';
import { Unread, useUnreadCount } from './start/unread.tsx';
import { Avatar } from './ui/avatar.tsx';
import { Icon } from './ui/icon.tsx';

/** The header of all views, with the links to them. */
export function SiteHeader() {
  const { path } = useAddress();
  const isSignedIn = useIsSignedIn();
  const profile = useProfile();
  const unread = useUnreadCount();
  const currentIf = (each: string) => (path === each ? 'page' : undefined);
  return (
    <header className="site-header">
      <div className="site-header-content">
        <a className="brand" href="#/" aria-current={currentIf('')}>
          <img src="./favicon.svg" alt="Spaces" width="28" height="28" />
          <span aria-hidden="true">Spaces</span>
        </a>
        <nav aria-label="Main">
          {isSignedIn ? (
            <>
              <a href={addressOf('your-spaces')} aria-current={currentIf('your-spaces')}>
                Your spaces <Unread count={unread} />
              </a>
              <a
                href={addressOf('new-space')}
                aria-current={currentIf('new-space')}
                aria-label="New space"
              >
                <Icon name="plus" />
                <span className="wide-only">New space</span>
              </a>
              <a
                className="nav-avatar"
                href={addressOf('profile')}
                aria-current={currentIf('profile')}
                aria-label="Account"
              >
                {profile ? <Avatar user={profile} size={30} /> : <Icon name="person" />}
              </a>
            </>
          ) : (
            <>
              <a href={addressOf('sign-in')} aria-current={currentIf('sign-in')}>
                Sign in
              </a>
              <a
                className="button small"
                href={addressOf('sign-up')}
                aria-current={currentIf('sign-up')}
              >
                Sign up
              </a>
            </>
          )}
        </nav>
      </div>
    </header>
  );
}
