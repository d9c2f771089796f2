import type { User } from '../../generated/types.gen.ts';
import { avatarUrl } from '../avatars/store.ts';
import type { Engine } from '../database/engine.ts';
import { DomainError } from '../errors.ts';

/**
 * What others see of a user.
 * @throws DomainError `user_not_found`
 */
export async function readUser(engine: Engine, userId: string, avatarBase: string): Promise<User> {
  const row = await engine.readDb
    .selectFrom('users')
    .select(['user_id', 'username', 'bio', 'avatar', 'created_at'])
    .where('user_id', '=', userId)
    .executeTakeFirst();
  if (!row) throw new DomainError('user_not_found', 'There is no such user.');
  const { avatar, ...user } = row;
  return { ...user, profile_picture: avatarUrl(avatarBase, avatar) };
}
