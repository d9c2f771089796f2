import { findAccount } from '../accounts/account.ts';
import type { DatabaseTransaction, Engine } from '../database/engine.ts';
import { isLiveSpace } from '../database/erased-rows.ts';
import { transact } from '../database/transaction.ts';
import { indexSpaces } from '../search/documents.ts';

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
    // Copies of the index hide the spaces of suspended users by themselves.
    if (!engine.searchIndex.record) await indexSpacesOf(engine, trx, userPk);
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
    if (numUpdatedRows > 0n) await indexSpacesOf(engine, trx, userPk);
    return true;
  });
}

/** Updates the search index for all spaces that a user created. The index contains no spaces of suspended users. */
async function indexSpacesOf(
  engine: Engine,
  trx: DatabaseTransaction,
  userPk: number,
): Promise<void> {
  const spaces = await trx
    .selectFrom('spaces')
    .select('pk')
    .where('creator_pk', '=', userPk)
    // The index must not contain deleted spaces again: erasing their rows would fail.
    .where(isLiveSpace('pk'))
    .execute();
  await indexSpaces(
    engine,
    trx,
    spaces.map(({ pk }) => pk),
  );
}
