import { sql } from 'kysely';
import { transact } from '../../transaction.ts';
import { marksOf, pksOf, SPACES_PER_BATCH } from './changes.ts';
import { type Copy, toRows } from './contents.ts';
import { type CopyState, readState } from './copy-state.ts';
import { SPACES_PER_STEP } from './hidden.ts';
import { readTransaction } from './log.ts';
import { insertPending, insertSpaceChanges, selectPublic } from './statements.ts';

/**
 * Adds a step of the pending spaces.
 * @returns false if there are none
 */
export async function addPending(
  copy: Copy,
  apply: (state: CopyState, pending: readonly number[]) => Promise<boolean>,
  limit?: number,
): Promise<boolean> {
  const { db } = copy.engine;
  if (await addTransaction(copy)) return true;
  const state = await readState(db);
  const size = limit ?? (state.phase === 'complete' ? SPACES_PER_STEP : SPACES_PER_BATCH);
  const { rows } = await sql<{ space_pk: number }>`
    SELECT space_pk FROM pending_spaces ORDER BY space_pk DESC LIMIT ${size}`.execute(db);
  if (rows.length > 0) {
    await apply(
      state,
      rows.map(({ space_pk }) => space_pk),
    );
    return true;
  }
  if (state.phase !== 'complete') {
    // Another process may have enqueued some meanwhile, or replaced the file.
    await sql`UPDATE copy_state SET phase = 'complete'
      WHERE epoch = ${state.epoch} AND NOT EXISTS (SELECT 1 FROM pending_spaces)`.execute(db);
  }
  return false;
}

/**
 * Adds a part of the spaces of a large transaction to those that are pending.
 * @returns false if there is no such transaction
 */
async function addTransaction({ engine, source }: Copy): Promise<boolean> {
  const { rows } = await sql<{ xid: number; after: number }>`
    SELECT xid, after FROM pending_transactions LIMIT 1`.execute(engine.db);
  const [transaction] = rows;
  if (!transaction) return false;
  const { xid, after } = transaction;
  const changes = await readTransaction(source, xid, after, SPACES_PER_BATCH);
  const spaces = await selectPublic(source, toRows(pksOf(changes, 'space_pk')));
  await transact(engine, async (index) => {
    const last = changes.at(-1);
    const { numAffectedRows } = last
      ? await sql`UPDATE pending_transactions SET after = ${last.id}, changes = changes - ${changes.length}
          WHERE xid = ${xid} AND after = ${after}`.execute(index)
      : await sql`DELETE FROM pending_transactions WHERE xid = ${xid} AND after = ${after}`.execute(
          index,
        );
    // Another process was faster.
    if (numAffectedRows !== 1n) return;
    await insertSpaceChanges(index, marksOf(changes));
    await insertPending(
      index,
      spaces.map(({ pk }) => ({ space_pk: pk })),
    );
  });
  return true;
}
