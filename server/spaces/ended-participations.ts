import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../database/engine.ts';
import { nextTurn } from '../system/event-loop.ts';
import { KEPT_MS } from './list-position.ts';

/** Number of rows that one statement deletes. */
const ROWS_PER_STATEMENT = 500;

/**
 * SQL for the transaction in which the user of a row of `participations` lost the space of a row of `erased_spaces`: that
 * of the deletion, unless the user had left before it.
 */
const lostIn = sql<number | null>`
  CASE WHEN participations.left_at IS NULL THEN erased_spaces.changed_in ELSE participations.left_in END`;

/**
 * Keeps the ends of participations in deleted spaces, so that followers of lists who do not know them yet learn of them.
 * Call it before their rows are deleted.
 * @param participations a query of `space_pk` and `user_pk`
 */
export async function keepEnds(trx: Database, participations: RawBuilder<unknown>): Promise<void> {
  const now = Date.now();
  const keptSince = new Date(now - KEPT_MS).toISOString();
  await sql`
    INSERT INTO ended_participations (user_pk, space_pk, space_id, changed_in, ended_at)
    SELECT participations.user_pk, participations.space_pk, erased_spaces.space_id, ${lostIn},
      ${new Date(now).toISOString()}
    FROM participations JOIN erased_spaces ON erased_spaces.space_pk = participations.space_pk
    WHERE (participations.space_pk, participations.user_pk) IN (${participations})
      AND (participations.left_at IS NULL OR participations.left_at >= ${keptSince})
      AND ${lostIn} IS NOT NULL`.execute(trx);
}

/** Deletes the ends that followers no longer need. */
export async function deleteExpiredEnds(db: Database): Promise<void> {
  const expired = new Date(Date.now() - KEPT_MS).toISOString();
  const batch = sql`SELECT user_pk, space_pk FROM ended_participations
    WHERE ended_at < ${expired} LIMIT ${sql.lit(ROWS_PER_STATEMENT)}`;
  const deletion = sql`DELETE FROM ended_participations WHERE (user_pk, space_pk) IN (${batch})`;
  // SQLite does not let other work run in between.
  while ((await deletion.execute(db)).numAffectedRows !== 0n) await nextTurn();
}
