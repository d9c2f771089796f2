import type { Profile } from '../../generated/types.gen.ts';
import type { Caller } from '../auth/sessions.ts';
import { avatarUrl } from '../avatars/store.ts';
import type { Engine } from '../database/engine.ts';
import { DomainError } from '../errors.ts';
import { readStats } from './stats.ts';

/**
 * The caller's own profile, with statistics as of now.
 * @throws DomainError `unauthenticated` if the account has just been deleted
 */
export async function readProfile(
  engine: Engine,
  { userPk }: Caller,
  avatarBase: string,
): Promise<Profile> {
  const row = await engine.db
    .selectFrom('users')
    .select([
      'user_id',
      'username',
      'email',
      'bio',
      'avatar',
      'is_verified',
      'created_at',
      'updated_at',
    ])
    .where('pk', '=', userPk)
    .executeTakeFirst();
  if (!row) throw new DomainError('unauthenticated', 'The account has been deleted.');
  const { avatar, is_verified, ...profile } = row;
  return {
    ...profile,
    profile_picture: avatarUrl(avatarBase, avatar),
    is_verified: is_verified === 1,
    stats: await readStats(engine.db, userPk),
  };
}
