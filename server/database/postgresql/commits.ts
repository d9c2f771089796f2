import { sql } from 'kysely';
import type { Commits, Database } from '../engine.ts';
import { parseSnapshot } from '../snapshot.ts';
import { beginEpoch, EPOCH } from './epoch.ts';

/** SQL for `Engine.transactionNumber`. */
export const TRANSACTION = sql<number>`pg_current_xact_id()::text::bigint`;

/** See `Engine.transactionNumber`. */
export async function transactionNumber(trx: Database): Promise<number> {
  const { rows } = await sql<{ transaction: number }>`SELECT ${TRANSACTION} AS transaction`.execute(
    trx,
  );
  return (rows[0] as { transaction: number }).transaction;
}

/** See `Engine.readCommits`. */
export async function readCommits(db: Database): Promise<Commits> {
  const { rows } = await sql<{ snapshot: string; epoch: string | null }>`
    SELECT pg_current_snapshot()::text AS snapshot, ${EPOCH} AS epoch`.execute(db);
  const { snapshot, epoch } = rows[0] as (typeof rows)[number];
  if (epoch !== null) return { snapshot: parseSnapshot(snapshot), epoch };
  await beginEpoch(db);
  return readCommits(db);
}
