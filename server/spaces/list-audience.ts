import { sql } from 'kysely';
import type { Database } from '../database/engine.ts';
import { columnOf, MAX_ROWS_PER_STATEMENT, prepareForSet } from '../database/prepared.ts';
import { nextTurn } from '../system/event-loop.ts';
import { latestAuthor } from './activity.ts';
import { parseSubject } from './subjects.ts';

/** Number of participants that are read in one turn of the event loop. */
const MAX_PARTICIPANTS_AT_ONCE = 2_000;

/**
 * Returns those of the users whose lists of spaces events may have changed. Reads the participants of small spaces, and
 * looks up each user in large ones, so an event costs at most as much as there are users.
 * @param subjects of `Engine.announceEvent`
 */
export async function findAudience(
  db: Database,
  subjects: Iterable<string>,
  userPks: ReadonlySet<number>,
): Promise<Set<number>> {
  const audience = new Set<number>();
  const add = (userPk: number) => {
    if (userPks.has(userPk)) audience.add(userPk);
  };
  const spaceIds: { space_id: string }[] = [];
  const profiles: { user_pk: number }[] = [];
  for (const subject of subjects) {
    const parsed = parseSubject(subject);
    if (parsed.kind === 'list') add(parsed.userPk);
    else if (parsed.kind === 'profile') profiles.push({ user_pk: parsed.userPk });
    else if (parsed.kind === 'space') spaceIds.push({ space_id: parsed.spaceId });
  }
  const spaces = [...(await findSpaces(db, spaceIds)), ...(await findSpacesOf(db, profiles))];
  const maxSmall = Math.min(userPks.size, MAX_PARTICIPANTS_AT_ONCE);
  const isSmall = ({ participant_count }: FoundSpace) => participant_count <= maxSmall;
  for (const some of inGroups(spaces.filter(isSmall))) {
    if (audience.size === userPks.size) return audience;
    await nextTurn();
    for (const { user_pk } of await findParticipants(db, some)) add(user_pk);
  }
  for (const { space_pk } of spaces.filter((space) => !isSmall(space))) {
    const others = [...userPks].filter((userPk) => !audience.has(userPk));
    for (let i = 0; i < others.length; i += MAX_ROWS_PER_STATEMENT) {
      await nextTurn();
      const pairs = others
        .slice(i, i + MAX_ROWS_PER_STATEMENT)
        .map((user_pk) => ({ space_pk, user_pk }));
      for (const { user_pk } of await findAmong(db, pairs)) audience.add(user_pk);
    }
  }
  return audience;
}

interface FoundSpace {
  space_pk: number;
  participant_count: number;
}

/** Divides spaces into groups that have at most MAX_PARTICIPANTS_AT_ONCE participants together. */
function* inGroups(spaces: readonly FoundSpace[]): Iterable<FoundSpace[]> {
  let group: FoundSpace[] = [];
  let count = 0;
  for (const space of spaces) {
    if (group.length > 0 && count + space.participant_count > MAX_PARTICIPANTS_AT_ONCE) {
      yield group;
      [group, count] = [[], 0];
    }
    group.push(space);
    count += space.participant_count;
  }
  if (group.length > 0) yield group;
}

const findSpaces = prepareForSet({ space_id: 'text' }, (db, rows) =>
  db
    .selectFrom('spaces')
    .select(['pk as space_pk', 'participant_count'])
    .where('space_id', 'in', columnOf(rows, 'space_id')),
);

/** Returns the spaces in whose lists users are shown: as the creator, or as the author of the last message. */
const findSpacesOf = prepareForSet({ user_pk: 'bigint' }, (_, rows) => {
  const userPks = sql.join(columnOf(rows, 'user_pk'));
  return sql<FoundSpace>`
    SELECT pk AS space_pk, participant_count FROM spaces WHERE creator_pk IN (${userPks})
    UNION ALL
    SELECT pk, participant_count
    FROM participations JOIN spaces ON spaces.pk = participations.space_pk
    WHERE user_pk IN (${userPks}) AND ${latestAuthor} = user_pk`;
});

const findParticipants = prepareForSet({ space_pk: 'bigint' }, (db, rows) =>
  db
    .selectFrom('participations')
    .select('user_pk')
    .where('space_pk', 'in', columnOf(rows, 'space_pk'))
    .where('left_at', 'is', null),
);

const findAmong = prepareForSet({ space_pk: 'bigint', user_pk: 'bigint' }, (_, rows) => {
  const pairs = rows.map(({ space_pk, user_pk }) => sql`(${space_pk}, ${user_pk})`);
  return sql<{ user_pk: number }>`
    WITH pairs (space_pk, user_pk) AS (VALUES ${sql.join(pairs)})
    SELECT pairs.user_pk FROM pairs JOIN participations USING (space_pk, user_pk)
    WHERE left_at IS NULL`;
});
