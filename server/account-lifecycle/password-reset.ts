import { emailKey } from '../accounts/email.ts';
import { checkNewPassword } from '../accounts/password.ts';
import { hashPassword } from '../auth/password-hashing.ts';
import type { Engine } from '../database/engine.ts';
import { isLiveUser } from '../database/erased-rows.ts';
import { transact } from '../database/transaction.ts';

/**
 * Replaces the password of the account with this email address, and ends all its sessions. For the operator: does not
 * check the current password.
 * @returns whether the account exists
 * @throws DomainError `password_…`
 */
export async function setPassword(
  engine: Engine,
  email: string,
  password: string,
): Promise<boolean> {
  const account = await engine.db
    .selectFrom('users')
    .select(['pk', 'username', 'email'])
    .where('email_key', '=', emailKey(email))
    .executeTakeFirst();
  if (!account) return false;
  checkNewPassword(password, account, '/password');
  const password_hash = await hashPassword(password);
  return transact(engine, async (trx) => {
    const { numUpdatedRows } = await trx
      .updateTable('users')
      .set({ password_hash })
      .where('pk', '=', account.pk)
      // The account may have been deleted concurrently.
      .where(isLiveUser('pk'))
      .executeTakeFirst();
    await trx.deleteFrom('sessions').where('user_pk', '=', account.pk).execute();
    return numUpdatedRows === 1n;
  });
}
