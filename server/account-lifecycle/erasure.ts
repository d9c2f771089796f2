import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { deleteKeyBatch } from '../accounts/idempotency-keys.ts';
import type { Database, DatabaseTransaction, Engine } from '../database/engine.ts';
import { columnOf } from '../database/prepared.ts';
import { transact } from '../database/transaction.ts';
import { type ChangedMessage, recordChanges, recordDeletions } from '../messages/message-order.ts';
import { moveSpaceBatch } from '../search/own-index.ts';
import {
  eraseBatchOfSpaces,
  eraseMessageBatch,
  ROWS_PER_STATEMENT,
  repeatUntil,
} from '../spaces/space-deletion.ts';

const ERASURE_LIMITS = {
  /** Maximum time that a transaction blocks other writers. */
  maxTransactionMs: 50,
  /** Maximum time of a call, so that maintenance can do other work. */
  maxRunMs: 1_000,
};

/**
 * Deletes rows of deleted spaces and accounts, in short transactions. After a crash, the next call continues.
 * @param stopping stops it after the current transaction
 * @returns whether none are left; false if it stopped earlier, because of `stopping` or after `maxRunMs`
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
      return repeatUntil(startedAt + maxTransactionMs, () => eraseBatch(engine, trx));
    });
    if (stopping?.aborted || performance.now() > deadline) {
      return !(await hasDeletedRows(engine.db));
    }
    // The pause lasts as long as the transaction. Writers of other processes retry at intervals and could miss a
    // shorter one.
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

/**
 * Deletes a batch of rows of deleted spaces and accounts. Before that, moves the spaces that deleted accounts have left
 * to their new places in the search order.
 * @returns false if nothing is left to do
 */
export async function eraseBatch(engine: Engine, trx: DatabaseTransaction): Promise<boolean> {
  return (
    (await moveSpaceBatch(engine, trx)) ||
    (await eraseBatchOfSpaces(engine, trx)) ||
    (await eraseBatchOfUsers(engine, trx))
  );
}

async function eraseBatchOfUsers(engine: Engine, trx: DatabaseTransaction): Promise<boolean> {
  const user = await trx
    .selectFrom('erased_users')
    .select('user_pk')
    .orderBy('user_pk')
    .limit(1)
    .executeTakeFirst();
  if (!user) return false;
  const { user_pk: userPk } = user;
  const recordDeleted = (deleted: ChangedMessage[]) => recordDeletions(engine, trx, deleted);
  if (await eraseMessageBatch(trx, sql`author_pk = ${userPk}`, recordDeleted)) return true;
  const withdrawn = await eraseAppreciationBatch(trx, userPk);
  if (withdrawn.length > 0) {
    await recordChanges(engine, trx, withdrawn);
    return true;
  }
  if (await eraseMentionBatch(trx, userPk)) return true;
  if (await eraseBlockBatch(trx, userPk)) return true;
  if (await deleteKeyBatch(trx, sql`user_pk = ${userPk}`)) return true;
  // Cascades to `erased_users`. There are no other rows left.
  await trx.deleteFrom('users').where('pk', '=', userPk).execute();
  return true;
}

/** Deletes a batch of the appreciations of a user. Returns their messages. */
async function eraseAppreciationBatch(trx: Database, userPk: number): Promise<ChangedMessage[]> {
  const messages = await trx
    .selectFrom('appreciations')
    .innerJoin('messages', 'messages.pk', 'appreciations.message_pk')
    .select(['messages.pk', 'message_id as messageId', 'space_pk as spacePk'])
    .where('user_pk', '=', userPk)
    .limit(ROWS_PER_STATEMENT)
    .execute();
  if (messages.length === 0) return messages;
  await trx
    .deleteFrom('appreciations')
    .where('user_pk', '=', userPk)
    .where('message_pk', 'in', columnOf(messages, 'pk'))
    .execute();
  return messages;
}

/** Deletes a batch of the mentions of a user. Returns false if there are none. */
async function eraseMentionBatch(trx: Database, userPk: number): Promise<boolean> {
  const { numAffectedRows } = await sql`
    DELETE FROM mentions WHERE (user_pk, space_pk, created_at, message_pk) IN (
      SELECT user_pk, space_pk, created_at, message_pk FROM mentions
      WHERE user_pk = ${userPk} LIMIT ${sql.lit(ROWS_PER_STATEMENT)}
    )`.execute(trx);
  return numAffectedRows !== 0n;
}

/** Deletes a batch of the blocks by and of a user. Returns false if there are none. */
async function eraseBlockBatch(trx: Database, userPk: number): Promise<boolean> {
  const { numAffectedRows } = await sql`
    DELETE FROM blocks WHERE (user_pk, blocked_pk) IN (
      SELECT user_pk, blocked_pk FROM blocks
      WHERE user_pk = ${userPk} OR blocked_pk = ${userPk} LIMIT ${sql.lit(ROWS_PER_STATEMENT)}
    )`.execute(trx);
  return numAffectedRows !== 0n;
}
