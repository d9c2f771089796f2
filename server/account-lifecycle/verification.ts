import { findAccount } from '../accounts/account.ts';
import type { Engine } from '../database/engine.ts';
import { transact } from '../database/transaction.ts';

/**
 * Marks an account as verified. For the operator: the service sends no emails.
 * @param account an email address or a user id
 * @returns whether the account exists
 */
export async function verifyAccount(engine: Engine, account: string): Promise<boolean> {
  return transact(engine, async (trx) => {
    const userPk = await findAccount(trx, account);
    if (userPk === undefined) return false;
    await trx.updateTable('users').set({ is_verified: 1 }).where('pk', '=', userPk).execute();
    return true;
  });
}
