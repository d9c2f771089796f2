import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Database, Engine } from '../database/engine.ts';
import { isLiveSpace } from '../database/erased-rows.ts';
import { transact } from '../database/transaction.ts';
import { addWords, FIRST_INDEXED_TIME, firstBatch } from './update.ts';

/** Number of sent messages after which `indexMessages` looks for spaces to index. */
const MESSAGES_PER_STEP = 500;

export const INDEXING_LIMITS = {
  /** A space is indexed when this many of its messages are not. A search reads their texts, usually in a few milliseconds. */
  minMessages: 256,
  /** Number of messages that a transaction indexes, at most. */
  maxTransactionMessages: 250,
  /** Maximum time of a call, so that maintenance can do other work. */
  maxRunMs: 1_000,
};

export type IndexingLimits = typeof INDEXING_LIMITS;

/**
 * Adds the words of messages to the index, in short transactions. After a crash, the next call continues. Messages are
 * examined in the order of their keys. On PostgreSQL, a message can be committed after later ones have been examined.
 * Searches find it nevertheless, and the next messages of its space cause its indexing.
 * @param stopping stops it after the current transaction
 * @returns whether nothing is left to do; false if it stopped earlier, because of `stopping` or after `maxRunMs`
 */
export async function indexMessages(
  engine: Engine,
  stopping?: AbortSignal,
  limits: Partial<IndexingLimits> = {},
): Promise<boolean> {
  const { minMessages, maxTransactionMessages, maxRunMs } = { ...INDEXING_LIMITS, ...limits };
  const deadline = performance.now() + maxRunMs;
  const isEnding = () => stopping?.aborted || performance.now() > deadline;
  for (;;) {
    const step = await readStep(engine.db, Math.min(MESSAGES_PER_STEP, minMessages));
    if (!step) return true;
    for (const spacePk of await findLongSpaces(engine.db, step, minMessages)) {
      // Messages that are sent from now on get later times.
      const { ms } = await transact(engine, (trx) => engine.nextEvent(trx, [spacePk]));
      for (let isDone = false; !isDone; ) {
        if (isEnding()) return false;
        const startedAt = performance.now();
        isDone = await transact(engine, (trx) =>
          indexBatch(trx, spacePk, new Date(ms).toISOString(), maxTransactionMessages),
        );
        // For waiting writers, as in `eraseDeletedRows`.
        await sleep(performance.now() - startedAt);
      }
    }
    await transact(engine, (trx) =>
      trx.updateTable('message_index').set({ examined_pk: step.last }).execute(),
    );
    if (isEnding()) return false;
  }
}

/** Returns the number of messages that `indexMessages` has not examined yet, at most. Exact if they are few. */
export async function countUnexamined(db: Database): Promise<number> {
  // An import on PostgreSQL uses up keys for messages that exist already, so keys alone would not do.
  const { rows } = await sql<{ count: number; keys: number }>`
    SELECT (
      SELECT count(*) FROM (
        SELECT 1 FROM messages WHERE pk > examined_pk LIMIT ${sql.lit(MESSAGES_PER_STEP)}
      ) AS next
    ) AS count, coalesce((SELECT max(pk) FROM messages), 0) - examined_pk AS keys
    FROM message_index`.execute(db);
  const { count, keys } = rows[0] ?? { count: 0, keys: 0 };
  return count < MESSAGES_PER_STEP ? count : keys;
}

interface Step {
  /** The messages after this key up to `last`. */
  after: number;
  last: number;
}

/** Returns the next messages to examine; undefined if there are fewer than `count`. */
async function readStep(db: Database, count: number): Promise<Step | undefined> {
  const { rows } = await sql<Step>`
    SELECT examined_pk AS after, (
      SELECT pk FROM messages WHERE pk > examined_pk ORDER BY pk LIMIT 1 OFFSET ${sql.lit(count - 1)}
    ) AS last FROM message_index`.execute(db);
  const [step] = rows;
  return step?.last ? step : undefined;
}

/** Returns the spaces of some messages that have at least `minMessages` which are not indexed. */
async function findLongSpaces(
  db: Database,
  { after, last }: Step,
  minMessages: number,
): Promise<number[]> {
  const { rows } = await sql<{ space_pk: number }>`
    SELECT recent.space_pk FROM (
      SELECT DISTINCT space_pk FROM messages WHERE pk > ${after} AND pk <= ${last}
    ) AS recent LEFT JOIN indexed_messages AS indexed ON indexed.space_pk = recent.space_pk
    WHERE ${isLiveSpace('recent.space_pk')} AND EXISTS (
      SELECT 1 FROM messages WHERE messages.space_pk = recent.space_pk
        AND (messages.created_at, messages.message_id)
          > (coalesce(indexed.created_at, ${FIRST_INDEXED_TIME}), coalesce(indexed.message_id, ''))
      ORDER BY messages.created_at, messages.message_id LIMIT 1 OFFSET ${sql.lit(minMessages - 1)}
    )`.execute(db);
  return rows.map(({ space_pk }) => space_pk);
}

/**
 * Indexes the next messages of a space.
 * @param before the messages from this time on are not indexed
 * @returns whether there are no more
 */
async function indexBatch(
  trx: Database,
  spacePk: number,
  before: string,
  limit: number,
): Promise<boolean> {
  const { rows: spaces } = await sql<{ created_at: string; message_id: string }>`
    SELECT coalesce(indexed.created_at, ${FIRST_INDEXED_TIME}) AS created_at,
      coalesce(indexed.message_id, '') AS message_id
    FROM spaces LEFT JOIN indexed_messages AS indexed ON indexed.space_pk = spaces.pk
    WHERE spaces.pk = ${spacePk} AND ${isLiveSpace('spaces.pk')}`.execute(trx);
  const [end] = spaces;
  if (!end) return true;
  const next = await trx
    .selectFrom('messages')
    .select(['space_pk', 'created_at', 'message_id', 'text'])
    .where('space_pk', '=', spacePk)
    .where(sql<boolean>`(created_at, message_id) > (${end.created_at}, ${end.message_id})`)
    .where('created_at', '<', before)
    .orderBy('created_at')
    .orderBy('message_id')
    .limit(limit)
    .execute();
  const messages = firstBatch(next, ({ text }) => text.length);
  const last = messages.at(-1);
  if (!last) return true;
  await addWords(trx, messages);
  const { created_at, message_id } = last;
  await trx
    .insertInto('indexed_messages')
    .values({ space_pk: spacePk, created_at, message_id })
    .onConflict((conflict) => conflict.column('space_pk').doUpdateSet({ created_at, message_id }))
    .execute();
  return messages.length === next.length && next.length < limit;
}
