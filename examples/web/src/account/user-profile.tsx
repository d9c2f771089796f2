import { useQuery } from '@tanstack/react-query';
import { getUserOptions } from 'space-service/tanstack-react-query';
import { useProfile } from '../profile.ts';
import { Avatar } from '../ui/avatar.tsx';
import { Failure } from '../ui/explanation.tsx';
import { Heading } from '../ui/heading.tsx';
import { Skeletons } from '../ui/skeleton.tsx';
import { formatDate } from '../words.ts';

/** What other users see of an account. */
export function UserProfile({ id }: { id: string }) {
  const { data: user, error, refetch } = useQuery(getUserOptions({ path: { user_id: id } }));
  const isYou = useProfile()?.user_id === id;
  return (
    <div className="account">
      <header className="user-header">
        {user && <Avatar user={user} size={96} />}
        <div>
          <Heading title={user?.username ?? 'User'} />
          {user && <p className="hint">Member since {formatDate(user.created_at)}</p>}
          {isYou && <a href="#/profile">Edit your profile</a>}
        </div>
      </header>
      {error && <Failure error={error} onRetry={() => void refetch()} />}
      {!user && !error && <Skeletons count={1} className="panel-skeleton" />}
      {user && (
        <p className={user.bio ? 'bio' : 'empty'} dir="auto">
          {user.bio || 'This user has not written a bio yet.'}
        </p>
      )}
    </div>
  );
}
