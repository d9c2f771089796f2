import { findAccount } from '../accounts/account.ts';
import { type Caller, requireSession } from '../auth/sessions.ts';
import { discardAvatar } from '../avatars/discarded-avatars.ts';
import type { Database, DatabaseTransaction, Engine, TaskTarget } from '../database/engine.ts';
import { transact } from '../database/transaction.ts';
import { changeParticipantCount } from '../spaces/participations.ts';
import { eraseSpaceRows } from '../spaces/space-deletion.ts';

/** Deletes the caller's account on another thread, because the transaction for a large account can take seconds. */
export async function deleteAccount(engine: Engine, { userPk, sessionPk }: Caller): Promise<void> {
  await engine.runTask('eraseAccount', { pk: userPk, sessionPk });
}

/**
 * The task of `deleteAccount`, in one transaction.
 * @throws DomainError `unauthenticated` if the session has ended meanwhile
 */
export async function eraseAccount(
  engine: Engine,
  { pk: userPk, sessionPk }: TaskTarget,
): Promise<void> {
  await transact(engine.db, async (trx) => {
    await requireSession(trx, { sessionPk });
    await eraseAccountRows(engine, trx, userPk);
  });
}

/**
 * Deletes a suspended account like `deleteAccount`. For the operator.
 * @param account an email address or a user id
 * @returns whether it was deleted; otherwise, whether the account is unknown or not suspended
 */
export async function deleteSuspendedAccount(
  engine: Engine,
  account: string,
): Promise<'deleted' | 'unknown' | 'not suspended'> {
  return transact(engine.db, async (trx) => {
    const userPk = await findAccount(trx, account);
    if (userPk === undefined) return 'unknown';
    const { suspended_at } = await trx
      .selectFrom('users')
      .select('suspended_at')
      .where('pk', '=', userPk)
      .executeTakeFirstOrThrow();
    if (suspended_at === null) return 'not suspended';
    await eraseAccountRows(engine, trx, userPk);
    return 'deleted';
  });
}

/**
 * Deletes all data of a user: sessions, appreciations given and received, messages, participations, reports, and the
 * spaces they created with everything in them. Afterwards, background jobs delete the avatar's file and overwrite the
 * deleted text in the index and the WAL.
 */
async function eraseAccountRows(
  engine: Engine,
  trx: DatabaseTransaction,
  userPk: number,
): Promise<void> {
  const account = await trx
    .selectFrom('users')
    .select('avatar')
    .where('pk', '=', userPk)
    .executeTakeFirstOrThrow();

  const ownSpaces = await trx
    .selectFrom('spaces')
    .select('pk')
    .where('creator_pk', '=', userPk)
    .execute();
  for (const { pk } of ownSpaces) await eraseSpaceRows(engine, trx, pk);
  await decrementParticipantCounts(engine, trx, userPk);

  // Child rows first, so that no foreign key cascades. The counts above need the participations.
  await trx.deleteFrom('reports').where('reporter_pk', '=', userPk).execute();
  await trx
    .deleteFrom('reports')
    .where('message_pk', 'in', (from) =>
      from.selectFrom('messages').select('pk').where('author_pk', '=', userPk),
    )
    .execute();
  await trx.deleteFrom('appreciations').where('user_pk', '=', userPk).execute();
  await trx.deleteFrom('appreciations').where('author_pk', '=', userPk).execute();
  await trx.deleteFrom('messages').where('author_pk', '=', userPk).execute();
  await trx.deleteFrom('participations').where('user_pk', '=', userPk).execute();
  await trx.deleteFrom('sessions').where('user_pk', '=', userPk).execute();
  await trx.deleteFrom('users').where('pk', '=', userPk).execute();

  if (account.avatar !== null) await discardAvatar(trx, account.avatar);
  await trx
    .insertInto('pending_purges')
    .values({ requested_at: new Date().toISOString() })
    .execute();
}

async function decrementParticipantCounts(
  engine: Engine,
  trx: Database,
  userPk: number,
): Promise<void> {
  const spaces = await trx
    .selectFrom('participations')
    .select('space_pk')
    .where('user_pk', '=', userPk)
    .where('left_at', 'is', null)
    .execute();
  for (const { space_pk } of spaces) await changeParticipantCount(engine, trx, space_pk, -1);
}
