import { sql } from 'kysely';
import { includes, parseSnapshot, shows } from '../../snapshot.ts';
import { readSnapshot, transact } from '../../transaction.ts';
import { type Copy, readContents, toRows, toSpacePks, writeContents } from './contents.ts';
import {
  type CopyPhase,
  type CopyState,
  readLastSpacePk,
  readState,
  writeState,
} from './copy-state.ts';
import { removeHiddenSpaces } from './hidden.ts';
import { type LoggedChange, readLargeTransactions, readLog, readLogState } from './log.ts';
import { notReady } from './not-ready.ts';
import {
  deletePending,
  insertPending,
  insertPendingTransactions,
  insertSpaceChanges,
  selectPublic,
} from './statements.ts';

/**
 * A transaction with more changes does not delay searches: the spaces that it removes disappear at once, and the others
 * are added in steps.
 */
const MAX_CHANGES_AT_ONCE = 500;

/** Number of spaces that one step adds before the copy can be searched, and that a comparison reads at once. */
export const SPACES_PER_BATCH = 5_000;

/**
 * Applies the changes since the state of the copy, and adds pending spaces.
 * @returns false if the state must be read again, because another process has changed the copy meanwhile, or because
 *   there were so many changes that the copy must be built from here
 */
export async function applyChanges(
  copy: Copy,
  state: CopyState,
  pending: readonly number[],
): Promise<boolean> {
  const lastSpacePk = await readLastSpacePk(copy.engine.db);
  const read = await readSnapshot(copy.source, async (source) => {
    const log = await readLogState(source, state.snapshot);
    if (isUnrelated(state, log)) throw notReady();
    const large = await readLargeTransactions(source, state.snapshot, MAX_CHANGES_AT_ONCE);
    const changes = await readLog(source, state.snapshot, large, lastSpacePk);
    const largeXids = new Set(large.map(({ xid }) => xid));
    const small = changes.filter(({ xid }) => !largeXids.has(xid));
    const changed = pksOf(small, 'space_pk');
    // Their texts may not fit into memory.
    const postponed = changed.length > SPACES_PER_BATCH ? changed : [];
    const wanted = new Set([...(postponed.length > 0 ? [] : changed), ...pending]);
    const others = pksOf(changes, 'space_pk').filter((pk) => !wanted.has(pk));
    const stillPublic = new Set((await selectPublic(source, toRows(others))).map(({ pk }) => pk));
    return {
      log,
      large,
      small,
      postponed,
      wanted: [...wanted],
      removed: others.filter((pk) => !stillPublic.has(pk)),
      contents: await readContents(copy, source, [...wanted], pksOf(changes, 'user_pk')),
    };
  });
  const { log, large, postponed, wanted, removed } = read;
  const snapshot = parseSnapshot(log.snapshot);
  return transact(copy.engine, async (index) => {
    const current = await readState(index);
    if (current.epoch !== state.epoch || current.epoch !== log.epoch) return false;
    // Another process was faster. Without a later change, the pending spaces are as they were read.
    const isShown = includes(current.snapshot, snapshot);
    if (isShown && (pending.length === 0 || !includes(snapshot, current.snapshot))) return true;
    // Large transactions could have removed spaces that it has added meanwhile, also without another snapshot.
    if (large.length > 0 && (await readLastSpacePk(index)) > lastSpacePk) return false;
    await insertSpaceChanges(index, marksOf(read.small));
    await writeContents(copy, index, [...wanted, ...removed], read.contents);
    await insertPendingTransactions(
      index,
      // Another process may have stored some, and even added their spaces.
      large.filter(({ xid }) => !shows(current.snapshot, xid)),
    );
    await insertPending(index, toSpacePks(postponed));
    await deletePending(index, toSpacePks([...wanted, ...removed]));
    // The spaces of most users are removed at once.
    if (read.contents.hiddenUsers.length > 0) await removeHiddenSpaces(copy, index);
    const phase = postponed.length > 0 ? incomplete(current) : current.phase;
    await writeState(index, { ...current, snapshot, bound: log.bound, phase });
    await sql`DELETE FROM space_changes WHERE xid <= ${log.bound}`.execute(index);
    return postponed.length === 0;
  });
}

/** Whether a copy cannot be updated from the log alone. */
export function isUnrelated(
  { epoch, needed }: CopyState,
  log: { epoch: string | null; bound: number },
): boolean {
  return epoch === '' || epoch !== log.epoch || needed <= log.bound;
}

/** Returns the phase of a copy that is not complete any more, or not yet. */
export function incomplete({ phase }: CopyState): CopyPhase {
  return phase === 'complete' ? 'repairing' : phase;
}

export function pksOf(changes: readonly LoggedChange[], column: 'space_pk' | 'user_pk'): number[] {
  return [...new Set(changes.flatMap(({ [column]: pk }) => (pk === null ? [] : [pk])))];
}

export function marksOf(changes: readonly LoggedChange[]): { xid: number; space_pk: number }[] {
  return changes.flatMap(({ xid, space_pk, omit }) =>
    omit && space_pk !== null ? [{ xid, space_pk }] : [],
  );
}
