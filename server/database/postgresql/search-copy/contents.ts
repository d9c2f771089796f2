import type {
  Database,
  DatabaseTransaction,
  Engine,
  IndexableSpace,
  Indexer,
} from '../../engine.ts';
import type { PublicSpaces, Users } from '../../schema.ts';
import {
  deleteUnusedTags,
  deleteUsers,
  enqueueSpacesOf,
  insertTags,
  insertUsers,
  selectLastChanges,
  selectRows,
  selectTags,
  selectTagsOf,
  selectUsers,
  updateCount,
} from './statements.ts';

/** A copy, and the database that it follows. */
export interface Copy {
  engine: Engine;
  source: Database;
  indexer: Indexer;
}

/** What a copy contains of some spaces. */
export interface Contents {
  spaces: IndexableSpace[];
  users: User[];
  /** The keys of suspended and deleted users. */
  hiddenUsers: number[];
  /** Whether some of them were deleted. */
  hasDeletions: boolean;
  tags: { tag_id: number; tag_key: string }[];
}

export const NO_CONTENTS: Contents = {
  spaces: [],
  users: [],
  hiddenUsers: [],
  hasDeletions: false,
  tags: [],
};

/** A row of `users` in a copy. */
export type User = Pick<Users, 'user_id' | 'username' | 'avatar'> & { pk: number };

/** Returns spaces as they are in the database, and the users and tags that the copy needs. */
export async function readContents(
  { indexer }: Pick<Copy, 'indexer'>,
  source: Database,
  spacePks: readonly number[],
  userPks: readonly number[],
): Promise<Contents> {
  const spaces = await indexer.readSpaces(source, spacePks);
  const users = [...new Set([...userPks, ...spaces.map(({ creator_pk }) => creator_pk)])];
  const tagIds = new Set(spaces.flatMap(({ tags }) => tags.map(({ tag_id }) => tag_id)));
  const found = await selectUsers(source, toRows(users));
  const visible = found.filter(({ suspended_at }) => suspended_at === null);
  const visiblePks = new Set(visible.map(({ pk }) => pk));
  return {
    spaces,
    users: visible,
    hiddenUsers: users.filter((pk) => !visiblePks.has(pk)),
    hasDeletions: found.length < users.length,
    tags: await selectTags(
      source,
      Array.from(tagIds, (tag_id) => ({ tag_id })),
    ),
  };
}

/** Replaces spaces, and the users and tags that they need. */
export async function writeContents(
  { engine, indexer }: Copy,
  index: DatabaseTransaction,
  spacePks: readonly number[],
  { spaces, users, hiddenUsers, hasDeletions, tags }: Contents,
): Promise<void> {
  const former = await selectRows(index, toSpacePks(spacePks));
  const marks = await selectLastChanges(index, toSpacePks(spacePks));
  const lastChange = new Map(marks.map(({ space_pk, xid }) => [space_pk, xid]));
  const formerTags = await selectTagsOf(
    index,
    former.map(({ key }) => ({ key })),
  );
  const revision = (pk: number) => lastChange.get(pk) ?? 0;
  const rows = new Map(former.map((row) => [row.space_pk, row]));
  // A join usually changes only the count, which needs no change of the words.
  const recounted = spaces.filter((space) => {
    const row = rows.get(space.pk);
    return row && isSameDocument(row, indexer.rowOf(space));
  });
  for (const { pk, participant_count } of recounted) {
    await updateCount(index, { space_pk: pk, participant_count, revision: revision(pk) });
  }
  const unmoved = new Set(recounted.map(({ pk }) => pk));
  const replace = (pks: readonly number[], added: readonly IndexableSpace[]) =>
    indexer.replaceSpaces(engine, index, pks, added, revision);
  // First, because a tag that was deleted and created again has another id.
  await replace(
    spacePks.filter((pk) => !unmoved.has(pk)),
    [],
  );
  await deleteUnusedTags(index, formerTags);
  await insertTags(index, tags);
  await insertUsers(index, users);
  await replace(
    [],
    spaces.filter(({ pk }) => !unmoved.has(pk)),
  );
  // Removing thousands of spaces takes seconds.
  await enqueueSpacesOf(index, toRows(hiddenUsers));
  await deleteUsers(index, toRows(hiddenUsers));
  if (hasDeletions) await engine.requestPurge(index);
}

export type SpaceRow = Omit<PublicSpaces, 'revision'>;

/** Whether two rows of a space differ at most in the count of participants. */
export function isSameDocument(a: SpaceRow, b: SpaceRow): boolean {
  return (
    a.key === b.key &&
    a.creator_pk === b.creator_pk &&
    a.title_key === b.title_key &&
    a.head === b.head &&
    a.tail === b.tail
  );
}

export function toRows(pks: readonly number[]): { pk: number }[] {
  return pks.map((pk) => ({ pk }));
}

export function toSpacePks(pks: readonly number[]): { space_pk: number }[] {
  return pks.map((space_pk) => ({ space_pk }));
}
