import type { User } from '../../generated/types.gen.ts';
import { DomainError } from '../errors.ts';
import type { AvatarResources } from '../resources.ts';

/**
 * Returns the public part of a user's profile. The profiles of suspended users are hidden.
 * @throws DomainError `user_not_found`
 */
export async function readUser(
  { engine, avatars }: AvatarResources,
  userId: string,
): Promise<User> {
  const row = await engine.db
    .selectFrom('users')
    .select(['user_id', 'username', 'bio', 'avatar', 'created_at'])
    .where('user_id', '=', userId)
    .where('suspended_at', 'is', null)
    .executeTakeFirst();
  if (!row) throw new DomainError('user_not_found', 'The user does not exist.');
  const { avatar, ...user } = row;
  return { ...user, profile_picture: avatars.url(avatar) };
}
