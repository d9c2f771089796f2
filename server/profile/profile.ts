import type { Profile } from '../../generated/types.gen.ts';
import type { Caller } from '../auth/sessions.ts';
import { isLiveUser } from '../database/erased-rows.ts';
import { prepare } from '../database/prepared.ts';
import { DomainError } from '../errors.ts';
import type { AvatarResources } from '../resources.ts';
import { USER_COLUMNS } from '../users/user.ts';
import { readStats } from './stats.ts';

/**
 * Returns the caller's own profile with current statistics.
 * @throws DomainError `unauthenticated` if the account has just been deleted
 */
export async function readProfile(
  { engine, avatars }: AvatarResources,
  { userPk }: Caller,
): Promise<Profile> {
  const [row] = await selectProfile(engine.db, { userPk });
  if (!row) throw new DomainError('unauthenticated', 'The account has been deleted.');
  const { avatar, is_verified, ...profile } = row;
  return {
    ...profile,
    profile_picture: avatars.url(avatar),
    is_verified: is_verified === 1,
    stats: await readStats(engine.db, userPk),
  };
}

const selectProfile = prepare({ userPk: 'bigint' }, (db, { userPk }) =>
  db
    .selectFrom('users')
    .select([...USER_COLUMNS, 'email', 'is_verified', 'updated_at'])
    .where('pk', '=', userPk)
    .where(isLiveUser('pk')),
);
