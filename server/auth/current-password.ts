import type { Database } from '../database/engine.ts';
import { isLiveUser } from '../database/erased-rows.ts';
import type { Users } from '../database/schema.ts';
import { DomainError } from '../errors.ts';
import { verifyPassword } from './password-hashing.ts';
import type { Caller } from './sessions.ts';

/**
 * Returns what the password of the caller is checked against.
 * @throws DomainError `unauthenticated` if the account has been deleted
 */
export async function readCredentials(
  db: Database,
  { userPk }: Pick<Caller, 'userPk'>,
): Promise<Pick<Users, 'username' | 'email' | 'password_hash'>> {
  const account = await db
    .selectFrom('users')
    .select(['username', 'email', 'password_hash'])
    .where('pk', '=', userPk)
    .where(isLiveUser('pk'))
    .executeTakeFirst();
  if (!account) throw new DomainError('unauthenticated', 'The account has been deleted.');
  return account;
}

/** @throws DomainError `current_password_incorrect` */
export async function verifyCurrentPassword(
  storedHash: string | null,
  currentPassword: string,
): Promise<void> {
  if (!(await verifyPassword(storedHash, currentPassword))) throw currentPasswordIncorrect();
}

export function currentPasswordIncorrect(): DomainError {
  return new DomainError(
    'current_password_incorrect',
    'The current password is incorrect. Nothing was changed.',
    [{ pointer: '/currentPassword', message: 'is incorrect' }],
  );
}
