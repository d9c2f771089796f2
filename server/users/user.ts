import type { User } from '../../generated/types.gen.ts';
import type { Database } from '../database/engine.ts';
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
  const { pk: _, avatar, ...user } = await findUser(engine.db, userId);
  return { ...user, profile_picture: avatars.url(avatar) };
}

/** The columns of `User`. */
export const USER_COLUMNS = ['user_id', 'username', 'bio', 'avatar', 'created_at'] as const;

/**
 * Finds a user who is not suspended.
 * @throws DomainError `user_not_found`
 */
export async function findUser(db: Database, userId: string) {
  const row = await db
    .selectFrom('users')
    .select(['pk', ...USER_COLUMNS])
    .where('user_id', '=', userId)
    .where('suspended_at', 'is', null)
    .executeTakeFirst();
  if (!row) throw new DomainError('user_not_found', 'The user does not exist.');
  return row;
}
