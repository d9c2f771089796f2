import { sql } from 'kysely';
import type { Database } from '../../engine.ts';
import { columnOf } from '../../prepared.ts';
import type { PublicSpaces } from '../../schema.ts';
import { NOTHING_SHOWN, parseSnapshot } from '../../snapshot.ts';
import { readSnapshot, transact } from '../../transaction.ts';
import { incomplete, marksOf, SPACES_PER_BATCH } from './changes.ts';
import {
  type Contents,
  type Copy,
  isSameDocument,
  NO_CONTENTS,
  readContents,
  type SpaceRow,
  toSpacePks,
  type User,
  writeContents,
} from './contents.ts';
import { type CopyState, readState, writeState } from './copy-state.ts';
import { removeHidden } from './hidden.ts';
import { type LoggedChange, type LogState, readLog, readLogState } from './log.ts';
import { insertPending, insertSpaceChanges } from './statements.ts';

/** The result of a comparison of a copy with the database. */
interface Repair {
  log: LogState;
  changes: readonly LoggedChange[];
  differing: readonly number[];
  missing: readonly number[];
  users: Contents;
}

/**
 * Compares all spaces with the copy. Removes those that differ, and enqueues those that are missing then. Reads the
 * database in one snapshot, which the copy shows when they have been added.
 */
export async function repair(copy: Copy): Promise<void> {
  const { db } = copy.engine;
  // A comparison of spaces does not notice that the suspension of their creator has ended.
  while (await removeHidden(copy));
  const before = await readState(db);
  const spaces = db.selectFrom('public_spaces').selectAll().orderBy('space_pk').stream();
  const users = db.selectFrom('users').selectAll().stream();
  try {
    // Before the transaction, in which no stream of another database can begin.
    const [firstSpace, firstUser] = [await spaces.next(), await users.next()];
    const read = await readSnapshot(copy.source, async (source) => ({
      log: await readLogState(source, NOTHING_SHOWN),
      changes: await readLog(source, NOTHING_SHOWN),
      ...(await compareSpaces(copy, source, firstSpace, spaces)),
      users: await compareUsers(copy, source, firstUser, users),
    }));
    await writeRepair(copy, before, read);
  } finally {
    await spaces.return?.();
    await users.return?.();
  }
}

/**
 * Compares all public spaces with the rows of a copy. Millions of spaces do not fit into memory, so both are read in
 * the order of their keys.
 * @returns the keys of the rows to remove, and those of the spaces to add then
 */
async function compareSpaces(
  { indexer }: Copy,
  source: Database,
  row: IteratorResult<PublicSpaces>,
  rows: AsyncIterator<PublicSpaces>,
): Promise<{ differing: number[]; missing: number[] }> {
  const differing: number[] = [];
  const missing: number[] = [];
  for (let next = row, after = 0; ; ) {
    const batch = await source
      .selectFrom('spaces')
      .select('pk')
      .where('pk', '>', after)
      .where('visibility', '=', 'public')
      .orderBy('pk')
      .limit(SPACES_PER_BATCH)
      .execute();
    const spaces = await indexer.readSpaces(source, columnOf(batch, 'pk'));
    const wanted = new Map(spaces.map((space) => [space.pk, indexer.rowOf(space)]));
    after = batch.at(-1)?.pk ?? Infinity;
    for (; !next.done && next.value.space_pk <= after; next = await rows.next()) {
      const { space_pk } = next.value;
      const space = wanted.get(space_pk);
      if (space && isSameRow(space, next.value)) wanted.delete(space_pk);
      else differing.push(space_pk);
    }
    missing.push(...wanted.keys());
    if (batch.length === 0) return { differing, missing };
  }
}

/** Returns the changes of the users of a copy. */
async function compareUsers(
  copy: Copy,
  source: Database,
  user: IteratorResult<User>,
  users: AsyncIterator<User>,
): Promise<Contents> {
  const changed: Contents = { ...NO_CONTENTS, users: [], hiddenUsers: [] };
  for (let next = user; !next.done; ) {
    const batch: User[] = [];
    for (; !next.done && batch.length < SPACES_PER_BATCH; next = await users.next()) {
      batch.push(next.value);
    }
    const former = new Map(batch.map((each) => [each.pk, each]));
    const contents = await readContents(copy, source, [], columnOf(batch, 'pk'));
    changed.hiddenUsers.push(...contents.hiddenUsers);
    changed.users.push(
      ...contents.users.filter((each) => !isSameUser(each, former.get(each.pk) as User)),
    );
  }
  return changed;
}

async function writeRepair(
  copy: Copy,
  before: CopyState,
  { log, changes, differing, missing, users }: Repair,
): Promise<void> {
  await transact(copy.engine, async (index) => {
    const current = await readState(index);
    // Another process was faster.
    if (current.epoch !== before.epoch || current.snapshot.end !== before.snapshot.end) return;
    await sql`DELETE FROM space_changes`.execute(index);
    await insertSpaceChanges(index, marksOf(changes));
    // In batches, because their texts may not fit into memory.
    for (let i = 0; i < differing.length; i += SPACES_PER_BATCH) {
      await writeContents(copy, index, differing.slice(i, i + SPACES_PER_BATCH), NO_CONTENTS);
    }
    await writeContents(copy, index, [], users);
    await sql`DELETE FROM pending_transactions`.execute(index);
    await sql`DELETE FROM pending_spaces`.execute(index);
    await insertPending(index, toSpacePks(missing));
    await copy.engine.requestPurge(index);
    await writeState(index, {
      epoch: log.epoch ?? '',
      snapshot: parseSnapshot(log.snapshot),
      bound: log.bound,
      phase: missing.length > 0 ? incomplete(current) : 'complete',
    });
  });
}

function isSameRow(a: SpaceRow, b: SpaceRow): boolean {
  return a.participant_count === b.participant_count && isSameDocument(a, b);
}

function isSameUser(a: User, b: User): boolean {
  return a.user_id === b.user_id && a.username === b.username && a.avatar === b.avatar;
}
