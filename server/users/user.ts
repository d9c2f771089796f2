import type { User } from '../../generated/types.gen.ts';
import type { Caller } from '../auth/sessions.ts';
import type { Database } from '../database/engine.ts';
import { DomainError } from '../errors.ts';
import type { AvatarResources } from '../resources.ts';

/**
 * Returns a user's profile as the caller sees it. The profiles of suspended users are hidden.
 * @throws DomainError `user_not_found`
 */
export async function readUser(
  { engine, avatars }: AvatarResources,
  caller: Caller,
  userId: string,
): Promise<User> {
  const { pk, avatar, ...user } = await findUser(engine.db, userId);
  const block = await engine.db
    .selectFrom('blocks')
    .select('created_at')
    .where('user_pk', '=', caller.userPk)
    .where('blocked_pk', '=', pk)
    .executeTakeFirst();
  return { ...user, profile_picture: avatars.url(avatar), is_blocked: block !== undefined };
}

/** The columns of `User` that are the same for all callers. */
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
