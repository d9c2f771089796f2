import { sql } from 'kysely';
import type { Participation } from '../../generated/types.gen.ts';
import type { Caller } from '../auth/sessions.ts';
import { prepare } from '../database/prepared.ts';
import { includes, shows } from '../database/snapshot.ts';
import type { AvatarResources } from '../resources.ts';
import { pausing } from '../system/event-loop.ts';
import { latestAuthor } from './activity.ts';
import {
  areChangesKnown,
  type ChangeKey,
  compareKeys,
  type ListPosition,
  positionAt,
} from './list-position.ts';
import { describeParticipations } from './participations.ts';

// Every row that lists of spaces show has the number of the transaction that last changed it. A reader knows the changes
// of all transactions that a snapshot shows, so the others are new. Times or ascending numbers would not be enough: with
// several servers, a transaction can be committed after later ones.

/** Number of changed spaces that are read at once. */
const SPACES_PER_STATEMENT = 100;

/** A reader of a list. */
export interface ListReader {
  position: ListPosition;
  /** Maximum number of changes. */
  limit: number;
}

/** Changes of a user's list of spaces since a position. */
export interface ListChanges {
  /** Participations that are new or have changed, as they are now. */
  items: Participation[];
  leftSpaceIds: string[];
  /** The position after these changes. */
  newer: ListPosition;
  /** False if changes are not known. Then there are none, and `newer` is after all of them. */
  isComplete: boolean;
}

/**
 * Reads the next changes of the caller's list of spaces, oldest first, for several readers.
 * @returns the changes of each reader
 */
export async function readListChanges(
  { engine, avatars }: AvatarResources,
  caller: Caller,
  readers: readonly ListReader[],
): Promise<ListChanges[]> {
  // Before the rows, so that they contain all changes of these transactions.
  const now = positionAt(await engine.readCommits());
  const known = readers.filter(({ position }) => areChangesKnown(position, now.since));
  // None if nothing has been committed, which is usual for the next request after a message.
  const behind = known.filter(
    ({ position }) => !includes(position.since.snapshot, now.since.snapshot),
  );
  const min = Math.min(...behind.map(({ position }) => position.since.snapshot.min));
  const rows =
    behind.length === 0 ? [] : await findRows(engine.db, { user_pk: caller.userPk, min });
  const selections = new Map<ListReader, Selection>();
  const pause = pausing();
  for (const reader of known) {
    selections.set(reader, select(rows, reader, now));
    await pause();
  }
  const changes = [...selections.values()].flatMap((selection) => selection.changes);
  const spacePks = [...new Set(changes.map(({ space_pk }) => space_pk))];
  const participations = new Map<string, Participation>();
  for (let i = 0; i < spacePks.length; i += SPACES_PER_STATEMENT) {
    const some = spacePks.slice(i, i + SPACES_PER_STATEMENT);
    for (const each of await describeParticipations(engine.db, avatars, caller, some)) {
      participations.set(each.space.space_id, each);
    }
    await pause();
  }
  return readers.map((reader) => {
    const selection = selections.get(reader);
    if (!selection || selection.changes.some(({ space_id }) => space_id === null)) {
      return { items: [], leftSpaceIds: [], newer: now, isComplete: false };
    }
    return { ...describe(selection, participations), newer: selection.newer, isComplete: true };
  });
}

function describe(
  { changes }: Selection,
  participations: ReadonlyMap<string, Participation>,
): Pick<ListChanges, 'items' | 'leftSpaceIds'> {
  const items: Participation[] = [];
  const leftSpaceIds: string[] = [];
  for (const { space_id, isAccess } of changes) {
    const participation = participations.get(space_id as string);
    if (participation) items.push(participation);
    // Nothing else that happens in a lost space is for this user.
    else if (isAccess) leftSpaceIds.push(space_id as string);
  }
  return { items, leftSpaceIds };
}

interface Change {
  space_pk: number;
  space_id: string | null;
  key: ChangeKey;
  /** Whether the user may have lost or regained the space. */
  isAccess: boolean;
}

interface Selection {
  changes: Change[];
  newer: ListPosition;
}

/**
 * Selects the next changes of a reader. After a part of them, omits spaces that have changed again: they follow as later
 * changes.
 */
function select(rows: readonly ListRow[], reader: ListReader, now: ListPosition): Selection {
  const { position, limit } = reader;
  const { since, part } = position;
  const until = part?.until ?? now.since;
  const isNew = (transaction: number | null): transaction is number =>
    transaction !== null &&
    !shows(since.snapshot, transaction) &&
    shows(until.snapshot, transaction);
  const changes = rows
    .flatMap((row): Change[] => {
      const access = [row.participation_in, row.creator_in].filter(isNew);
      const others = [row.space_in, row.message_in, row.deletion_in, row.author_in].filter(isNew);
      if (access.length + others.length === 0) return [];
      const isAccess = access.length > 0;
      // Without the others, whose later changes would move a space that the user has lost behind parts that have been read.
      const key = [Math.max(...(isAccess ? access : others)), row.space_pk] as const;
      const { space_pk, space_id } = row;
      return [{ space_pk, space_id, key, isAccess }];
    })
    .filter(({ key }) => !part || compareKeys(key, part.last) > 0)
    .sort((a, b) => compareKeys(a.key, b.key));
  if (part && changes.length === 0) {
    return select(rows, { position: { since: until }, limit }, now);
  }
  const selected = changes.slice(0, limit);
  const last = changes.length > limit ? selected.at(-1)?.key : undefined;
  return {
    changes: selected,
    newer: last ? { since, part: { until, last } } : { since: until },
  };
}

/** A space in which the user participates or has participated, and the transactions of its latest changes. */
interface ListRow {
  space_pk: number;
  /** Null if the account of its creator has been deleted. */
  space_id: string | null;
  /** Of the user's participation or its end. */
  participation_in: number | null;
  /** Of the profile or suspension of the creator. */
  creator_in: number | null;
  space_in: number | null;
  message_in: number | null;
  /** Of the last deletion of a message. */
  deletion_in: number | null;
  /** Of the profile of the author of the last message. */
  author_in: number | null;
}

/** SQL for the same row without changes of the space itself. */
const nothingElse = sql`NULL AS creator_in, NULL AS space_in, NULL AS message_in, NULL AS deletion_in, NULL AS author_in`;

/**
 * Finds the spaces of a user that a transaction from `min` on has changed. Reads one row of each table for each current
 * participation. Of the others, only those that have ended since then.
 */
const findRows = prepare({ user_pk: 'bigint', min: 'bigint' }, (_, { user_pk, min }) => {
  const spacePk = sql.ref<number>('participations.space_pk');
  // Profiles change rarely, so almost always, this condition alone is read.
  const haveProfilesChanged = sql`EXISTS (SELECT 1 FROM users WHERE changed_in >= ${min})`;
  const profileOf = (userPk: unknown) => sql`CASE WHEN ${haveProfilesChanged} THEN (
    SELECT users.changed_in FROM users WHERE users.pk = ${userPk}
  ) END`;
  const isLive = sql`erased_spaces.space_pk IS NULL`;
  const spaceId = sql`CASE WHEN ${isLive} THEN spaces.space_id ELSE erased_spaces.space_id END`;
  // The latest message and deletion by time: in a space, times are in the order of commits.
  return sql<ListRow>`
    SELECT * FROM (
      SELECT participations.space_pk, ${spaceId} AS space_id,
        CASE WHEN ${isLive} THEN participations.changed_in ELSE erased_spaces.changed_in END AS participation_in,
        CASE WHEN ${isLive} THEN ${profileOf(sql.ref('spaces.creator_pk'))} END AS creator_in,
        spaces.changed_in AS space_in,
        (SELECT changed_in FROM messages WHERE messages.space_pk = ${spacePk}
          ORDER BY created_at DESC, message_id DESC LIMIT 1) AS message_in,
        (SELECT changed_in FROM message_changes
          WHERE message_changes.space_pk = ${spacePk} AND changed_in IS NOT NULL
          ORDER BY changed_at DESC LIMIT 1) AS deletion_in,
        ${profileOf(latestAuthor)} AS author_in
      FROM participations
      JOIN spaces ON spaces.pk = participations.space_pk
      LEFT JOIN erased_spaces ON erased_spaces.space_pk = participations.space_pk
      WHERE participations.user_pk = ${user_pk} AND left_at IS NULL
    ) AS current
    WHERE participation_in >= ${min} OR creator_in >= ${min} OR space_in >= ${min}
      OR message_in >= ${min} OR deletion_in >= ${min} OR author_in >= ${min}
    UNION ALL
    SELECT participations.space_pk, ${spaceId}, participations.left_in, ${nothingElse}
    FROM participations
    JOIN spaces ON spaces.pk = participations.space_pk
    LEFT JOIN erased_spaces ON erased_spaces.space_pk = participations.space_pk
    WHERE participations.user_pk = ${user_pk} AND participations.left_in >= ${min}
    UNION ALL
    SELECT space_pk, space_id, changed_in, ${nothingElse}
    FROM ended_participations
    WHERE user_pk = ${user_pk} AND changed_in >= ${min}`;
});
