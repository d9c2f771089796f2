import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { findAccount } from '../accounts/account.ts';
import { type Caller, requireSession } from '../auth/sessions.ts';
import { discardAvatar } from '../avatars/discarded-avatars.ts';
import type { DatabaseTransaction, Engine, TaskTarget } from '../database/engine.ts';
import { erasedId, isLiveSpace } from '../database/erased-rows.ts';
import type { PersonalColumns } from '../database/schema.ts';
import { announceAfterCommit, transact } from '../database/transaction.ts';
import { deleteMails } from '../mail/outbox.ts';
import { writerOf } from '../search/writer-of.ts';
import { hideSpaces, MAX_FIRST_ERASURE_MS, repeatUntil } from '../spaces/space-deletion.ts';
import { spaceSubject } from '../spaces/subjects.ts';
import { eraseBatch, eraseDeletedRows } from './erasure.ts';

/** Deletes the caller's account on another thread, because the transaction for a large account takes a long time. */
export async function deleteAccount(engine: Engine, { userPk, sessionPk }: Caller): Promise<void> {
  await engine.runTask('eraseAccount', { pk: userPk, sessionPk });
}

/**
 * Deletes an account: sessions, appreciations given and received, messages, participations, reports, and the spaces
 * it created with everything in them.
 *
 * One transaction removes all of this from every response, and deletes rows for up to `maxMs`. `eraseDeletedRows`
 * deletes the rest. Then maintenance overwrites the deleted text, and housekeeping removes the avatar.
 * @throws DomainError `unauthenticated` if the session has ended in the meantime
 */
export async function eraseAccount(
  engine: Engine,
  { pk: userPk, sessionPk }: TaskTarget,
  maxMs = MAX_FIRST_ERASURE_MS,
): Promise<void> {
  await transact(engine, async (trx) => {
    await requireSession(trx, { sessionPk });
    await eraseAccountRows(engine, trx, userPk, maxMs);
  });
}

/**
 * Deletes a suspended account like `deleteAccount`. For the operator.
 * @param account an email address or a user id
 */
export async function deleteSuspendedAccount(
  engine: Engine,
  account: string,
): Promise<'deleted' | 'unknown' | 'not suspended'> {
  return transact(engine, async (trx) => {
    const userPk = await findAccount(trx, account);
    if (userPk === undefined) return 'unknown';
    const { suspended_at } = await trx
      .selectFrom('users')
      .select('suspended_at')
      .where('pk', '=', userPk)
      .executeTakeFirstOrThrow();
    if (suspended_at === null) return 'not suspended';
    await eraseAccountRows(engine, trx, userPk, MAX_FIRST_ERASURE_MS);
    return 'deleted';
  });
}

/**
 * Deletes accounts again that a restored backup has brought back, with all their rows.
 * @param hashes see `Engine.requestPurge`
 * @returns the number of accounts
 */
export async function eraseAccounts(engine: Engine, hashes: Set<string>): Promise<number> {
  const users = await engine.db.selectFrom('users').select(['pk', 'user_id']).execute();
  const erased = users.filter(({ user_id }) => hashes.has(hashOf(user_id)));
  for (const { pk } of erased) {
    await transact(engine, (trx) => eraseAccountRows(engine, trx, pk, MAX_FIRST_ERASURE_MS));
  }
  while (!(await eraseDeletedRows(engine)));
  return erased.length;
}

function hashOf(userId: string): string {
  return createHash('sha256').update(userId).digest('hex');
}

/** Removes a user from every response, and deletes rows for up to `maxMs`. */
async function eraseAccountRows(
  engine: Engine,
  trx: DatabaseTransaction,
  userPk: number,
  maxMs: number,
): Promise<void> {
  await hideSpaces(engine, trx, 'creator_pk', userPk);
  await endParticipations(engine, trx, userPk);
  const userId = await hideUser(trx, userPk);
  // Maintenance waits until no rows are left to erase.
  await engine.requestPurge(trx, hashOf(userId));
  await repeatUntil(performance.now() + maxMs, () => eraseBatch(engine, trx));
}

/** Deletes a user's participations. Leaves out the user's own spaces, which are deleted, only to save work. */
async function endParticipations(
  engine: Engine,
  trx: DatabaseTransaction,
  userPk: number,
): Promise<void> {
  const changed_in = await engine.transactionNumber(trx);
  const current = sql`SELECT space_pk FROM participations
    WHERE user_pk = ${userPk} AND left_at IS NULL AND ${isLiveSpace('space_pk')}`;
  // Of all spaces that the user has joined, because each can have a message of the user as the last one.
  const spaces = await trx
    .updateTable('spaces')
    .set({
      participant_count: sql`participant_count - CASE WHEN pk IN (${current}) THEN 1 ELSE 0 END`,
      changed_in,
    })
    .where('pk', 'in', (from) =>
      from.selectFrom('participations').select('space_pk').where('user_pk', '=', userPk),
    )
    .where(isLiveSpace('pk'))
    .returning('space_id')
    .execute();
  for (const { space_id } of spaces) announceAfterCommit(engine, spaceSubject(space_id));
  await writerOf(engine).moveSpacesLater(trx, current);
  await trx.deleteFrom('participations').where('user_pk', '=', userPk).execute();
}

const ERASED_USER: PersonalColumns = {
  user_id: erasedId,
  username: '',
  username_key: erasedId,
  username_skeleton: erasedId,
  email: '',
  email_key: erasedId,
  password_hash: null,
  bio: '',
  avatar: null,
};

/** Ends the sessions of a user, and overwrites everything that identifies the account. Returns its id. */
async function hideUser(trx: DatabaseTransaction, userPk: number): Promise<string> {
  const { avatar, user_id } = await trx
    .selectFrom('users')
    .select(['avatar', 'user_id'])
    .where('pk', '=', userPk)
    .executeTakeFirstOrThrow();
  if (avatar !== null) await discardAvatar(trx, avatar);
  await trx.deleteFrom('sessions').where('user_pk', '=', userPk).execute();
  await trx.deleteFrom('reports').where('reporter_pk', '=', userPk).execute();
  await trx.deleteFrom('reports').where('user_pk', '=', userPk).execute();
  await trx.deleteFrom('ended_participations').where('user_pk', '=', userPk).execute();
  await trx.deleteFrom('action_counts').where('user_pk', '=', userPk).execute();
  await deleteMails(trx, userPk);
  await trx.updateTable('users').set(ERASED_USER).where('pk', '=', userPk).execute();
  await trx.insertInto('erased_users').values({ user_pk: userPk }).execute();
  return user_id;
}
