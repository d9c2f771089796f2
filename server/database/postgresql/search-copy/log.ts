import { type RawBuilder, sql } from 'kysely';
import type { Database, SpaceChanges } from '../../engine.ts';
import type { Snapshot } from '../../snapshot.ts';
import { EPOCH } from '../epoch.ts';

/** How long the log keeps changes. Cursors of searches are valid for as long. */
const RETENTION = sql`interval '1 hour'`;

/** Appends changes to the log, in the transaction that makes them. */
export async function recordChanges(
  trx: Database,
  { spacePks, omit }: SpaceChanges,
): Promise<void> {
  if (spacePks.length === 0) return;
  await sql`INSERT INTO search_changes (space_pk, omit)
    SELECT unnest(${spacePks}::bigint[]), ${omit}::boolean`.execute(trx);
}

/** The state of the log in a snapshot of the database. */
export interface LogState {
  /** See `Snapshot`. */
  snapshot: string;
  /** See `epoch.ts`. */
  epoch: string | null;
  /** The log has all changes of the transactions after this one. */
  bound: number;
  /** Whether the log has changes that the other snapshot does not show. */
  hasChanges: boolean;
}

/** Compares the log with the snapshot of a copy. Called before every search, so it is one statement. */
export async function readLogState(source: Database, since: Snapshot): Promise<LogState> {
  const { rows } = await sql<LogState>`
    SELECT pg_current_snapshot()::text AS snapshot,
      ${EPOCH} AS epoch,
      (SELECT xid::text::bigint FROM search_changes_bound) AS bound,
      EXISTS (SELECT FROM ${invisibleChanges(since)}) AS "hasChanges"`.execute(source);
  return rows[0] as LogState;
}

export interface LoggedChange {
  id: number;
  xid: number;
  space_pk: number | null;
  user_pk: number | null;
  omit: boolean;
}

/** A transaction with many changes. */
export interface LargeTransaction {
  xid: number;
  changes: number;
}

/** Returns the transactions with more than `size` changes that a snapshot does not show. */
export async function readLargeTransactions(
  source: Database,
  since: Snapshot,
  size: number,
): Promise<LargeTransaction[]> {
  const { rows } = await sql<LargeTransaction>`
    SELECT xid::text::bigint AS xid, count(*) AS changes FROM ${invisibleChanges(since)}
    GROUP BY xid HAVING count(*) > ${size}`.execute(source);
  return rows;
}

/**
 * Returns the changes that a snapshot does not show.
 * @param large of these transactions, only the changes of users and of spaces up to `lastSpacePk`
 */
export async function readLog(
  source: Database,
  since: Snapshot,
  large: readonly LargeTransaction[] = [],
  lastSpacePk = 0,
): Promise<LoggedChange[]> {
  const xids = large.map(({ xid }) => String(xid));
  const { rows } = await sql<LoggedChange>`
    SELECT id, xid::text::bigint AS xid, space_pk, user_pk, omit FROM ${invisibleChanges(since)}
    WHERE xid <> ALL(${xids}::text[]::xid8[]) OR user_pk IS NOT NULL OR space_pk <= ${lastSpacePk}`.execute(
    source,
  );
  return rows;
}

/** Returns changes of a transaction, in the order of their ids. */
export async function readTransaction(
  source: Database,
  xid: number,
  afterId: number,
  limit: number,
): Promise<LoggedChange[]> {
  const { rows } = await sql<LoggedChange>`
    SELECT id, xid::text::bigint AS xid, space_pk, user_pk, omit FROM search_changes
    WHERE xid = ${String(xid)}::text::xid8 AND id > ${afterId} ORDER BY id LIMIT ${limit}`.execute(
    source,
  );
  return rows;
}

/**
 * SQL for the rows of the log that a snapshot does not show. For two shorter conditions, PostgreSQL would read the whole
 * log: `NOT pg_visible_in_snapshot(xid, snapshot)` cannot use the index, and `OR` does not use it in the generic plan of
 * a prepared statement.
 */
function invisibleChanges({ end, open }: Snapshot): RawBuilder<unknown> {
  return sql`(
    SELECT * FROM search_changes WHERE xid >= ${String(end)}::text::xid8
    UNION ALL
    SELECT * FROM search_changes WHERE xid = ANY(${open.map(String)}::text[]::xid8[])
  ) AS invisible`;
}

/** Deletes changes that are older than the retention and that every later snapshot shows. */
export async function pruneLog(source: Database): Promise<void> {
  await sql`
    WITH kept AS MATERIALIZED (
      SELECT least(
        pg_snapshot_xmin(pg_current_snapshot()),
        (SELECT xid FROM search_changes WHERE recorded_at > now() - ${RETENTION} ORDER BY xid LIMIT 1)
      ) AS xid
    ), pruned AS (
      DELETE FROM search_changes USING kept WHERE search_changes.xid < kept.xid
      RETURNING search_changes.xid
    ), last AS (
      SELECT xid FROM pruned ORDER BY xid DESC LIMIT 1
    )
    UPDATE search_changes_bound SET xid = last.xid FROM last
    WHERE search_changes_bound.xid < last.xid`.execute(source);
}
