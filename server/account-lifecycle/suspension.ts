import { findAccount } from '../accounts/account.ts';
import type { Engine } from '../database/engine.ts';
import { transact } from '../database/transaction.ts';
import { writerOf } from '../search/writer-of.ts';
import { recordSuspension } from '../spaces/record-profile.ts';

/**
 * Suspends an account: ends its sessions, and hides its profile and the spaces that it created. For the operator.
 * Does nothing if it is already suspended.
 * @param account an email address or a user id
 * @returns whether the account exists
 */
export async function suspendAccount(engine: Engine, account: string): Promise<boolean> {
  return transact(engine, async (trx) => {
    const userPk = await findAccount(trx, account);
    if (userPk === undefined) return false;
    const { numUpdatedRows } = await trx
      .updateTable('users')
      .set({ suspended_at: new Date().toISOString() })
      .where('pk', '=', userPk)
      .where('suspended_at', 'is', null)
      .executeTakeFirst();
    if (numUpdatedRows === 0n) return true;
    await trx.deleteFrom('sessions').where('user_pk', '=', userPk).execute();
    await writerOf(engine).hideSpacesOf(trx, userPk);
    await recordSuspension(engine, trx, userPk);
    return true;
  });
}

/**
 * Ends the suspension of an account. Everything that was hidden is visible again. For the operator. Does nothing if it
 * is not suspended.
 * @param account an email address or a user id
 * @returns whether the account exists
 */
export async function restoreAccount(engine: Engine, account: string): Promise<boolean> {
  return transact(engine, async (trx) => {
    const userPk = await findAccount(trx, account);
    if (userPk === undefined) return false;
    const { numUpdatedRows } = await trx
      .updateTable('users')
      .set({ suspended_at: null })
      .where('pk', '=', userPk)
      .where('suspended_at', 'is not', null)
      .executeTakeFirst();
    if (numUpdatedRows === 0n) return true;
    await writerOf(engine).restoreSpacesOf(trx, userPk);
    await recordSuspension(engine, trx, userPk);
    return true;
  });
}
