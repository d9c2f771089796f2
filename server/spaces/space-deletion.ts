import { type RawBuilder, sql } from 'kysely';
import { type Caller, requireSession } from '../auth/sessions.ts';
import type { Database, DatabaseTransaction, Engine, TaskTarget } from '../database/engine.ts';
import { erasedId } from '../database/erased-rows.ts';
import { columnOf } from '../database/prepared.ts';
import { announceAfterCommit, transact } from '../database/transaction.ts';
import { firstBatch, updateWords } from '../message-words/update.ts';
import { writerOf } from '../search/writer-of.ts';
import { keepEnds } from './ended-participations.ts';
import { findSpaceFor } from './space-access.ts';
import { listSubject } from './subjects.ts';
import { deleteUnusedTags } from './tags.ts';

/** Number of rows that one statement deletes. Takes up to about 20 ms. */
export const ROWS_PER_STATEMENT = 500;

/** Number of messages that are deleted together, with their words in the index, at most. */
const MESSAGES_PER_BATCH = 200;

/** Number of spaces whose rows are deleted together. */
const SPACES_PER_BATCH = 50;

/** Number of participants who are told of a deletion at once. Others learn of it by polls, or with their next request. */
const MAX_ANNOUNCED_PARTICIPANTS = 1_000;

/**
 * How long the transaction of a deletion may delete rows. It deletes small spaces and accounts completely. Larger ones
 * disappear from every response, and maintenance deletes their remaining rows.
 */
export const MAX_FIRST_ERASURE_MS = 150;

/**
 * Deletes a space that the caller created. Uses another thread, because deleting a large space takes long.
 * @throws DomainError `space_not_found`, `not_space_creator`
 */
export async function deleteSpace(engine: Engine, caller: Caller, spaceId: string): Promise<void> {
  const { pk } = await findSpaceFor(engine.db, caller, spaceId, 'manageSpace');
  await engine.runTask('eraseSpace', { pk, sessionPk: caller.sessionPk });
}

/**
 * Removes a space with its messages, appreciations, participations and tags from every response, and deletes rows for
 * up to `maxMs`.
 * @throws DomainError `unauthenticated` if the session has ended
 */
export async function eraseSpace(
  engine: Engine,
  { pk, sessionPk }: TaskTarget,
  maxMs = MAX_FIRST_ERASURE_MS,
): Promise<void> {
  await transact(engine, async (trx) => {
    await requireSession(trx, { sessionPk });
    await eraseSpaceRows(engine, trx, pk, maxMs);
  });
}

/**
 * Deletes any space like `deleteSpace`. For the operator.
 * @returns whether the space exists
 */
export async function removeSpace(engine: Engine, spaceId: string): Promise<boolean> {
  return transact(engine, async (trx) => {
    const space = await trx
      .selectFrom('spaces')
      .select('pk')
      .where('space_id', '=', spaceId)
      .executeTakeFirst();
    if (!space) return false;
    await eraseSpaceRows(engine, trx, space.pk, MAX_FIRST_ERASURE_MS);
    return true;
  });
}

/** Removes a space from every response, and deletes rows for up to `maxMs`. */
async function eraseSpaceRows(
  engine: Engine,
  trx: DatabaseTransaction,
  spacePk: number,
  maxMs: number,
): Promise<void> {
  await hideSpaces(engine, trx, 'pk', spacePk);
  // Maintenance waits until no rows are left to erase.
  await engine.requestLaterPurge(trx);
  await repeatUntil(performance.now() + maxMs, () => eraseBatchOfSpaces(engine, trx));
}

/** Removes spaces from every response, and enqueues their rows for `eraseBatchOfSpaces`. */
export async function hideSpaces(
  engine: Engine,
  trx: DatabaseTransaction,
  column: 'pk' | 'creator_pk',
  value: number,
): Promise<void> {
  await writerOf(engine).hideDeletedSpaces(trx, column, value);
  await recordDeletion(engine, trx, column, value);
  await trx
    .deleteFrom('reports')
    .where('space_pk', 'in', (from) => from.selectFrom('erased_spaces').select('space_pk'))
    .execute();
  await trx.updateTable('spaces').set({ space_id: erasedId }).where(column, '=', value).execute();
}

/** Records what followers of lists need: when their users have lost the spaces, and the ids. */
async function recordDeletion(
  engine: Engine,
  trx: DatabaseTransaction,
  column: 'pk' | 'creator_pk',
  value: number,
): Promise<void> {
  const changed_in = await engine.transactionNumber(trx);
  const spaces = trx.selectFrom('spaces').where(`spaces.${column}`, '=', value);
  await trx
    .updateTable('erased_spaces')
    .set({
      // The participants of a suspended creator lost the space earlier, and must not learn of its deletion.
      changed_in: sql`coalesce((
        SELECT users.changed_in FROM spaces JOIN users ON users.pk = spaces.creator_pk
        WHERE spaces.pk = erased_spaces.space_pk AND users.suspended_at IS NOT NULL
      ), ${changed_in})`,
      // Nothing of a deleted account may be left, not even the ids of its spaces.
      ...(column === 'pk' && { space_id: spaces.select('space_id') }),
    })
    .where('space_pk', 'in', spaces.select('pk'))
    // Otherwise, its deletion began earlier.
    .where('changed_in', 'is', null)
    .execute();
  const participants = await trx
    .selectFrom('participations')
    .select('user_pk')
    .where('space_pk', 'in', spaces.select('pk'))
    .where('left_at', 'is', null)
    .limit(MAX_ANNOUNCED_PARTICIPANTS)
    .execute();
  for (const { user_pk } of participants) announceAfterCommit(engine, listSubject(user_pk));
}

/**
 * Repeats `work` until it returns false or the deadline has passed.
 * @param deadline as of `performance.now()`
 * @returns whether `work` returned false
 */
export async function repeatUntil(
  deadline: number,
  work: () => Promise<boolean>,
): Promise<boolean> {
  while (await work()) if (performance.now() > deadline) return false;
  return true;
}

/**
 * Deletes a batch of rows of deleted spaces. Deletes child rows first, so that no foreign key cascades.
 * @returns false if there are none
 */
export async function eraseBatchOfSpaces(
  engine: Engine,
  trx: DatabaseTransaction,
): Promise<boolean> {
  return (
    (await unindexBatch(engine, trx)) ||
    (await eraseMessageBatch(trx, sql`space_pk IN (${spaceBatch})`)) ||
    (await eraseChangeBatch(trx)) ||
    (await eraseParticipationBatch(trx)) ||
    (await eraseTagsAndSpaces(trx))
  );
}

const spaceBatch = sql`SELECT space_pk FROM erased_spaces ORDER BY space_pk LIMIT ${sql.lit(SPACES_PER_BATCH)}`;

/** Removes a batch of spaces from the word index and `tag_hits`. Their rows in `public_spaces` have been deleted. */
async function unindexBatch(engine: Engine, trx: Database): Promise<boolean> {
  const batch = await trx
    .selectFrom('erased_spaces')
    .select('key')
    .where('key', 'is not', null)
    .$narrowType<{ key: number }>()
    .orderBy('key')
    .limit(ROWS_PER_STATEMENT)
    .execute();
  const last = batch.at(-1)?.key;
  if (!last) return false;
  await engine.wordIndex.remove(trx, columnOf(batch, 'key'));
  await sql`DELETE FROM tag_hits WHERE (tag_id, key) IN (
    SELECT space_tags.tag_id, erased_spaces.key
    FROM erased_spaces JOIN space_tags ON space_tags.space_pk = erased_spaces.space_pk
    WHERE erased_spaces.key <= ${last}
  )`.execute(trx);
  await trx.updateTable('erased_spaces').set({ key: null }).where('key', '<=', last).execute();
  return true;
}

/**
 * Deletes a batch of the messages that meet a condition, with their reports, appreciations and mentions.
 * @param beforeErasure called with the messages
 * @returns false if there are none
 */
export async function eraseMessageBatch(
  trx: Database,
  condition: RawBuilder<boolean>,
  beforeErasure: (
    messages: { messageId: string; spacePk: number }[],
  ) => Promise<void> = async () => {},
): Promise<boolean> {
  const next = await trx
    .selectFrom('messages')
    .select(['pk', 'message_id as messageId', 'space_pk as spacePk'])
    .select(sql<number>`length(text)`.as('length'))
    .where(condition)
    .limit(MESSAGES_PER_BATCH)
    .execute();
  if (next.length === 0) return false;
  const messages = firstBatch(next, ({ length }) => length);
  await beforeErasure(messages);
  const pks = columnOf(messages, 'pk');
  await trx.deleteFrom('reports').where('message_pk', 'in', pks).execute();
  await trx.deleteFrom('appreciations').where('message_pk', 'in', pks).execute();
  await trx.deleteFrom('mentions').where('message_pk', 'in', pks).execute();
  const deleted = await trx
    .deleteFrom('messages')
    .where('pk', 'in', pks)
    .returning(['space_pk', 'created_at', 'text'])
    .execute();
  await updateWords(trx, deleted);
  return true;
}

async function eraseChangeBatch(trx: Database): Promise<boolean> {
  const { numAffectedRows } = await sql`
    DELETE FROM message_changes WHERE message_id IN (
      SELECT message_id FROM message_changes
      WHERE space_pk IN (${spaceBatch}) LIMIT ${sql.lit(ROWS_PER_STATEMENT)}
    )`.execute(trx);
  return numAffectedRows !== 0n;
}

async function eraseParticipationBatch(trx: Database): Promise<boolean> {
  const batch = sql`
    SELECT space_pk, user_pk FROM participations WHERE space_pk IN (${spaceBatch})
    ORDER BY space_pk, user_pk LIMIT ${sql.lit(ROWS_PER_STATEMENT)}`;
  await keepEnds(trx, batch);
  const { numAffectedRows } = await sql`
    DELETE FROM participations WHERE (space_pk, user_pk) IN (${batch})`.execute(trx);
  return numAffectedRows !== 0n;
}

async function eraseTagsAndSpaces(trx: Database): Promise<boolean> {
  const tags = await sql<{ tag_id: number }>`
    DELETE FROM space_tags WHERE space_pk IN (${spaceBatch}) RETURNING tag_id`.execute(trx);
  await deleteUnusedTags(
    trx,
    tags.rows.map(({ tag_id }) => tag_id),
  );
  // Cascades to `erased_spaces`.
  const { numAffectedRows } = await sql`DELETE FROM spaces WHERE pk IN (${spaceBatch})`.execute(
    trx,
  );
  return numAffectedRows !== 0n;
}
