import type { Database } from '../database/engine.ts';
import { DomainError } from '../errors.ts';
import { isReserved, usernameKey, usernameSkeleton } from './username.ts';

/**
 * Refuses a name that belongs to another account, looks like one that does, or is reserved. It comes before the rules
 * of well-formed names, so that a look-alike made of mixed scripts is told that the name is taken. The unique
 * indexes have the last word: two may ask at once.
 * @param userPk whose own name does not count
 * @throws DomainError `username_taken` or `username_reserved`
 */
export async function refuseTakenUsername(
  db: Database,
  text: string,
  userPk?: number,
): Promise<void> {
  if (isReserved(text)) {
    throw new DomainError('username_reserved', 'That username is reserved. Choose another.', [
      { pointer: '/username', message: 'is reserved' },
    ]);
  }
  const owners = await db
    .selectFrom('users')
    .select('pk')
    .where((where) =>
      where.or([
        where('username_key', '=', usernameKey(text)),
        where('username_skeleton', '=', usernameSkeleton(text)),
      ]),
    )
    .execute();
  if (owners.some(({ pk }) => pk !== userPk)) throw usernameTaken();
}

export function usernameTaken(): DomainError {
  return new DomainError(
    'username_taken',
    'That username, or one that looks like it, belongs to someone else. Choose another.',
    [{ pointer: '/username', message: 'is taken' }],
  );
}
