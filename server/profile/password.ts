import { checkNewPassword } from '../accounts/password.ts';
import { hashPassword, verifyPassword } from '../auth/password-hashing.ts';
import { HashReplacedError, retryReplacedHash } from '../auth/replaced-hashes.ts';
import { type Caller, requireSession } from '../auth/sessions.ts';
import type { Engine } from '../database/engine.ts';
import { isLiveUser } from '../database/erased-rows.ts';
import { transact } from '../database/transaction.ts';
import { DomainError } from '../errors.ts';

/**
 * Changes the caller's password and ends all their other sessions.
 * @throws DomainError `password_…` if the new password breaks a rule, `current_password_incorrect`, or
 *   `unauthenticated` if the session has ended in the meantime
 */
export async function changePassword(
  engine: Engine,
  caller: Caller,
  currentPassword: string,
  newPassword: string,
): Promise<void> {
  await retryReplacedHash(
    () => attemptChange(engine, caller, currentPassword, newPassword),
    currentPasswordIncorrect,
  );
}

async function attemptChange(
  engine: Engine,
  caller: Caller,
  currentPassword: string,
  newPassword: string,
): Promise<void> {
  const account = await engine.db
    .selectFrom('users')
    .select(['username', 'email', 'password_hash'])
    .where('pk', '=', caller.userPk)
    .where(isLiveUser('pk'))
    .executeTakeFirst();
  if (!account) throw new DomainError('unauthenticated', 'The account has been deleted.');
  checkNewPassword(newPassword, account, '/newPassword');
  const verifiedHash = account.password_hash;
  if (!(await verifyPassword(verifiedHash, currentPassword))) throw currentPasswordIncorrect();

  const password_hash = await hashPassword(newPassword);
  await transact(engine, async (trx) => {
    await requireSession(trx, caller);
    // The password may have been changed concurrently, or a login may have rehashed it.
    const { numUpdatedRows } = await trx
      .updateTable('users')
      .set({ password_hash })
      .where('pk', '=', caller.userPk)
      .where('password_hash', '=', verifiedHash)
      .executeTakeFirst();
    if (numUpdatedRows === 0n) throw new HashReplacedError();
    await trx
      .deleteFrom('sessions')
      .where('user_pk', '=', caller.userPk)
      .where('pk', '<>', caller.sessionPk)
      .execute();
  });
}

function currentPasswordIncorrect(): DomainError {
  return new DomainError(
    'current_password_incorrect',
    'The current password is incorrect. Nothing was changed.',
    [{ pointer: '/currentPassword', message: 'is incorrect' }],
  );
}
