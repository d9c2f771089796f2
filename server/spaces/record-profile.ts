import type { DatabaseTransaction, Engine } from '../database/engine.ts';
import { announceAfterCommit } from '../database/transaction.ts';
import { profileSubject } from './subjects.ts';

/**
 * Records that a user has another username or avatar, for followers of lists of spaces. Call it in the transaction that
 * changes it.
 */
export async function recordProfile(
  engine: Engine,
  trx: DatabaseTransaction,
  userPk: number,
): Promise<void> {
  const changed_in = await engine.transactionNumber(trx);
  const { numUpdatedRows } = await trx
    .updateTable('users')
    .set({ changed_in })
    .where('pk', '=', userPk)
    .where('suspended_at', 'is', null)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) {
    // Participants of hidden spaces must not learn of it. Others can have a message of the user as the last one.
    await trx
      .updateTable('spaces')
      .set({ changed_in })
      .where('pk', 'in', (from) =>
        from.selectFrom('participations').select('space_pk').where('user_pk', '=', userPk),
      )
      .execute();
  }
  announceAfterCommit(engine, profileSubject(userPk));
}

/** Records that a user is suspended or no longer suspended, which hides or shows the spaces that the user created. */
export async function recordSuspension(
  engine: Engine,
  trx: DatabaseTransaction,
  userPk: number,
): Promise<void> {
  const changed_in = await engine.transactionNumber(trx);
  await trx.updateTable('users').set({ changed_in }).where('pk', '=', userPk).execute();
  announceAfterCommit(engine, profileSubject(userPk));
}
