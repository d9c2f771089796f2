import type { UserSummary } from 'space-service';
import { addressOf } from '../navigation.ts';

type Picture = Pick<UserSummary, 'profile_picture'>;

/** An avatar without text alternative, because the name is next to it. */
export function Avatar({ user, size }: { user: Picture; size: number }) {
  return <img className="avatar" src={user.profile_picture} alt="" width={size} height={size} />;
}

/** The name of a user and, with a size, the avatar. Links to the profile. */
export function UserLink({ user, size }: { user: UserSummary; size?: number }) {
  return (
    <a className="user-link" href={addressOf('user', { id: user.user_id })}>
      {size && <Avatar user={user} size={size} />}
      <bdi>{user.username}</bdi>
    </a>
  );
}
