import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { findAccount } from '../accounts/account.ts';
import { type Caller, requireSession } from '../auth/sessions.ts';
import { discardAvatar } from '../avatars/discarded-avatars.ts';
import type { Database, DatabaseTransaction, Engine, TaskTarget } from '../database/engine.ts';
import { erasedId, isLiveSpace } from '../database/erased-rows.ts';
import { transact } from '../database/transaction.ts';
import {
  eraseSomeMessages,
  eraseSomeOfSpaces,
  hideSpaces,
  MAX_FIRST_ERASURE_MS,
  moveSomeSpaces,
  repeatUntil,
} from '../spaces/space-deletion.ts';

/** Number of rows that one statement deletes. */
const ROWS_PER_STATEMENT = 500;

const ERASURE_LIMITS = {
  /** How long a transaction of `eraseDeletedRows` blocks other writers. */
  maxTransactionMs: 50,
  /** After this time, `eraseDeletedRows` returns, so that maintenance can do other work. */
  maxRunMs: 1_000,
};

/** Deletes the caller's account on another thread, because the transaction for a large account takes long. */
export async function deleteAccount(engine: Engine, { userPk, sessionPk }: Caller): Promise<void> {
  await engine.runTask('eraseAccount', { pk: userPk, sessionPk });
}

/**
 * Deletes an account: sessions, appreciations given and received, messages, participations, reports, and the spaces
 * it created with everything in them.
 *
 * One transaction removes all of this from every response, and deletes rows for up to `maxMs`. `eraseDeletedRows`
 * deletes the rest. Then maintenance overwrites the deleted text, and housekeeping removes the avatar.
 * @throws DomainError `unauthenticated` if the session has ended meanwhile
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
 * @returns whether it was deleted; otherwise, whether the account is unknown or not suspended
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

/** Removes a user from every response, and deletes rows for up to `maxMs`. */
async function eraseAccountRows(
  engine: Engine,
  trx: DatabaseTransaction,
  userPk: number,
  maxMs: number,
): Promise<void> {
  await hideSpaces(trx, 'creator_pk', userPk);
  await endParticipations(trx, userPk);
  await hideUser(trx, userPk);
  // Maintenance waits until no rows are left to erase.
  await engine.requestPurge(trx);
  await repeatUntil(performance.now() + maxMs, () => eraseSome(engine, trx));
}

/** Deletes a user's participations. Their spaces are moved in the search order later, because that can take long. */
async function endParticipations(trx: DatabaseTransaction, userPk: number): Promise<void> {
  const current = sql`SELECT space_pk FROM participations
    WHERE user_pk = ${userPk} AND left_at IS NULL AND ${isLiveSpace('space_pk')}`;
  await sql`UPDATE spaces SET participant_count = participant_count - 1 WHERE pk IN (${current})`.execute(
    trx,
  );
  await sql`INSERT INTO spaces_to_move (space_pk) SELECT space_pk FROM public_spaces
    WHERE space_pk IN (${current}) ON CONFLICT DO NOTHING`.execute(trx);
  await trx.deleteFrom('participations').where('user_pk', '=', userPk).execute();
}

/** Ends the sessions of a user, and overwrites everything that identifies the account. */
async function hideUser(trx: DatabaseTransaction, userPk: number): Promise<void> {
  const { avatar } = await trx
    .selectFrom('users')
    .select('avatar')
    .where('pk', '=', userPk)
    .executeTakeFirstOrThrow();
  if (avatar !== null) await discardAvatar(trx, avatar);
  await trx.deleteFrom('sessions').where('user_pk', '=', userPk).execute();
  await trx.deleteFrom('reports').where('reporter_pk', '=', userPk).execute();
  await trx.deleteFrom('action_counts').where('user_pk', '=', userPk).execute();
  await trx
    .updateTable('users')
    .set({
      user_id: erasedId,
      username: '',
      username_key: erasedId,
      username_skeleton: erasedId,
      email: '',
      email_key: erasedId,
      password_hash: null,
      bio: '',
      avatar: null,
    })
    .where('pk', '=', userPk)
    .execute();
  await trx.insertInto('erased_users').values({ user_pk: userPk }).execute();
}

/**
 * Deletes rows of deleted spaces and accounts, in short transactions. After a crash, the next call continues.
 * @param stopping stops it after the current transaction
 * @returns whether none are left; false if it stopped earlier, at the latest after a second
 */
export async function eraseDeletedRows(
  engine: Engine,
  stopping?: AbortSignal,
  { maxTransactionMs, maxRunMs } = ERASURE_LIMITS,
): Promise<boolean> {
  const deadline = performance.now() + maxRunMs;
  while (await hasDeletedRows(engine.db)) {
    let startedAt = performance.now();
    await transact(engine, (trx) => {
      startedAt = performance.now();
      return repeatUntil(startedAt + maxTransactionMs, () => eraseSome(engine, trx));
    });
    if (stopping?.aborted || performance.now() > deadline) {
      return !(await hasDeletedRows(engine.db));
    }
    // As long as the transaction, because writers of other processes retry at intervals and could miss a shorter pause.
    await sleep(performance.now() - startedAt);
  }
  return true;
}

async function hasDeletedRows(db: Database): Promise<boolean> {
  const { rows } = await sql<{ found: number | boolean }>`
    SELECT EXISTS (SELECT 1 FROM erased_spaces) OR EXISTS (SELECT 1 FROM erased_users)
      OR EXISTS (SELECT 1 FROM spaces_to_move) AS found`.execute(db);
  return Boolean(rows[0]?.found);
}

/** Deletes some rows of deleted spaces and accounts. Returns false if there are none. */
async function eraseSome(engine: Engine, trx: DatabaseTransaction): Promise<boolean> {
  return (
    (await moveSomeSpaces(engine, trx)) ||
    (await eraseSomeOfSpaces(engine, trx)) ||
    (await eraseSomeOfUsers(trx))
  );
}

async function eraseSomeOfUsers(trx: DatabaseTransaction): Promise<boolean> {
  const user = await trx
    .selectFrom('erased_users')
    .select('user_pk')
    .orderBy('user_pk')
    .limit(1)
    .executeTakeFirst();
  if (!user) return false;
  const { user_pk: userPk } = user;
  if (await eraseSomeMessages(trx, sql`author_pk = ${userPk}`)) return true;
  if (await eraseSomeAppreciations(trx, userPk)) return true;
  // Cascades to the queue. There are no other rows left.
  await trx.deleteFrom('users').where('pk', '=', userPk).execute();
  return true;
}

async function eraseSomeAppreciations(trx: Database, userPk: number): Promise<boolean> {
  const { numAffectedRows } = await sql`
    DELETE FROM appreciations WHERE (message_pk, user_pk) IN (
      SELECT message_pk, user_pk FROM appreciations
      WHERE user_pk = ${userPk} LIMIT ${sql.lit(ROWS_PER_STATEMENT)}
    )`.execute(trx);
  return numAffectedRows !== 0n;
}
