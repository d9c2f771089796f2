import { sql } from 'kysely';
import type { Database } from '../../engine.ts';
import { parseSnapshot, type Snapshot } from '../../snapshot.ts';

/**
 * - `building`: it has never been complete
 * - `repairing`: some of `pending_spaces` were public before the snapshot, so searches would miss them
 */
export type CopyPhase = 'building' | 'repairing' | 'complete';

/** The row of `copy_state`. */
export interface CopyState {
  epoch: string;
  snapshot: Snapshot;
  bound: number;
  phase: CopyPhase;
  /** The lowest transaction whose changes are still needed from the log. */
  needed: number;
}

export async function readState(db: Database): Promise<CopyState> {
  const { rows } = await sql<{
    epoch: string;
    snapshot: string;
    bound: number;
    phase: CopyPhase;
    pending_xid: number | null;
  }>`SELECT epoch, snapshot, bound, phase,
      (SELECT min(xid) FROM pending_transactions) AS pending_xid
    FROM copy_state`.execute(db);
  const [row] = rows;
  if (!row) throw new Error('The table copy_state is empty.');
  const snapshot = parseSnapshot(row.snapshot);
  return {
    epoch: row.epoch,
    snapshot,
    bound: row.bound,
    phase: row.phase,
    needed: Math.min(snapshot.min, row.pending_xid ?? snapshot.min),
  };
}

/** Returns the highest `space_pk` of the copy; 0 if it is empty. */
export async function readLastSpacePk(db: Database): Promise<number> {
  const { rows } = await sql<{ last: number }>`
    SELECT coalesce(max(space_pk), 0) AS last FROM public_spaces`.execute(db);
  return rows[0]?.last ?? 0;
}

export async function writeState(
  index: Database,
  { epoch, snapshot: { min, end, open }, bound, phase }: Omit<CopyState, 'needed'>,
): Promise<void> {
  await sql`UPDATE copy_state SET epoch = ${epoch}, snapshot = ${`${min}:${end}:${open.join(',')}`},
    bound = ${bound}, phase = ${phase}`.execute(index);
}
