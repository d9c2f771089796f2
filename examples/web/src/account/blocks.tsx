import { useInfiniteQuery } from '@tanstack/react-query';
import { listBlocksInfiniteOptions } from 'space-service/tanstack-react-query';
import { UserLink } from '../ui/avatar.tsx';
import { Pages } from '../ui/pages.tsx';
import { Panel } from '../ui/panel.tsx';
import { Skeletons } from '../ui/skeleton.tsx';
import { BlockButton } from './block-button.tsx';

/** The users whose messages are hidden. */
export function Blocks() {
  const blocks = useInfiniteQuery(listBlocksInfiniteOptions());
  return (
    <Panel title="Blocked users">
      <Pages
        query={blocks}
        noun="user"
        className="lines"
        skeleton={<Skeletons count={1} height="2rem" />}
        empty={<p className="empty">You have not blocked anyone.</p>}
      >
        {({ user }) => (
          <li key={user.user_id}>
            <UserLink user={user} size={28} />
            <BlockButton user={user} isBlocked={true} />
          </li>
        )}
      </Pages>
    </Panel>
  );
}
