import { selectAccount } from '../accounts/account.ts';
import { checkNewPassword } from '../accounts/password.ts';
import { hashPassword } from '../auth/password-hashing.ts';
import type { Engine } from '../database/engine.ts';
import { isLiveUser } from '../database/erased-rows.ts';
import { transact } from '../database/transaction.ts';

/**
 * Replaces the password of an account, and ends all its sessions. For the operator: does not check the current
 * password.
 * @param account an email address or a user id
 * @returns whether the account exists
 * @throws DomainError `password_…`
 */
export async function setPassword(
  engine: Engine,
  account: string,
  password: string,
): Promise<boolean> {
  const user = await selectAccount(engine.db, account)
    .select(['pk', 'username', 'email'])
    .executeTakeFirst();
  if (!user) return false;
  checkNewPassword(password, user, '/password');
  const password_hash = await hashPassword(password);
  return transact(engine, async (trx) => {
    const { numUpdatedRows } = await trx
      .updateTable('users')
      .set({ password_hash })
      .where('pk', '=', user.pk)
      // The account may have been deleted concurrently.
      .where(isLiveUser('pk'))
      .executeTakeFirst();
    await trx.deleteFrom('sessions').where('user_pk', '=', user.pk).execute();
    return numUpdatedRows === 1n;
  });
}
