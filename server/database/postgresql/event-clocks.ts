import { sql } from 'kysely';
import type { Database, NewEvent } from '../engine.ts';
import { TRANSACTION } from './commits.ts';

/**
 * Number of sequences `event_clock_…`. Each has the time of the latest event in many spaces, so their number decides how
 * often the writers of different spaces wait for each other.
 */
const CLOCKS = 64;

/** Distinguishes the advisory locks of clocks from those of other programs. */
const LOCK_CLASS = 1_702_257_516;

/**
 * See `Engine.nextEvent`. Not a row with the latest time, because a serializable transaction cannot update a row that
 * another one has updated since its snapshot. Sequences do not belong to snapshots, so a transaction can do all of its
 * other work before it waits for the lock.
 */
export async function nextEvent(trx: Database, spacePks: readonly number[]): Promise<NewEvent> {
  // In ascending order, so that transactions do not wait for each other in a circle.
  const clocks = [...new Set(spacePks.map((pk) => pk % CLOCKS))].sort((a, b) => a - b);
  const { rows } = await sql<NewEvent>`
    WITH locked AS MATERIALIZED (
      SELECT 'event_clock_' || clock AS clock, pg_advisory_xact_lock(${sql.lit(LOCK_CLASS)}, clock)
      FROM unnest(${clocks}::int[]) AS clock
    ), next AS MATERIALIZED (
      SELECT greatest(${Date.now()}::bigint, max(nextval(clock::regclass))) AS ms FROM locked
    )
    SELECT setval(clock::regclass, ms) AS ms, ${TRANSACTION} AS transaction FROM locked, next`.execute(
    trx,
  );
  return rows[0] as NewEvent;
}
