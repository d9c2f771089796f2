import { sql } from 'kysely';
import type { Space } from '../../generated/types.gen.ts';
import type { Caller } from '../auth/sessions.ts';
import type { AvatarUrls } from '../avatars/store.ts';
import type { Database } from '../database/engine.ts';
import { isLiveSpace } from '../database/erased-rows.ts';
import { columnOf, prepareForSet } from '../database/prepared.ts';
import type { ResourceState } from '../resources.ts';
import { summarizeUser } from '../users/user-summary.ts';
import { callerPk, isVisible, mayInvite, participantRole } from './rights.ts';
import { type FoundSpace, spaceNotFound } from './space-access.ts';

/**
 * Returns spaces as the caller sees them, by `pk`: only the creator sees the invitation code. Omits missing spaces
 * and those that the caller may not see.
 *
 * Reads everything with one statement, so that the result contains an update by another request completely or not at
 * all.
 */
export async function describeSpaces(
  db: Database,
  avatars: AvatarUrls,
  spacePks: readonly number[],
  caller: Caller | null,
): Promise<Map<number, Space>> {
  if (spacePks.length === 0) return new Map();
  const rows = await selectSpaces(
    db,
    spacePks.map((spacePk) => ({ spacePk, callerPk: callerPk(caller) })),
  );
  const spaces = new Map<number, Space>();
  // Sorted here, because the database would sort whole rows, including descriptions.
  for (const row of rows.sort((a, b) => (a.position ?? 0) - (b.position ?? 0))) {
    const space = spaces.get(row.pk) ?? {
      space_id: row.space_id,
      title: row.title,
      description: row.description,
      visibility: row.visibility,
      posting: row.posting,
      creator: summarizeUser(avatars, row),
      participant_count: row.participant_count,
      tags: [],
      created_at: row.created_at,
      invitation_code: mayInvite(row, caller) ? row.invitation_code : null,
      participation:
        row.joined_at === null || row.role === null
          ? null
          : { joined_at: row.joined_at, role: row.role },
    };
    const { tag_id, tag_name } = row;
    if (tag_id !== null && tag_name !== null) space.tags.push({ tag_id, tag_name });
    spaces.set(row.pk, space);
  }
  return spaces;
}

const selectSpaces = prepareForSet({ spacePk: 'bigint', callerPk: 'bigint' }, (db, rows) => {
  // The same one in each row.
  const { callerPk } = rows[0] as (typeof rows)[number];
  return db
    .selectFrom('spaces')
    .innerJoin('users', 'users.pk', 'spaces.creator_pk')
    .leftJoin('space_tags', 'space_tags.space_pk', 'spaces.pk')
    .leftJoin('participations', (join) =>
      join
        .onRef('participations.space_pk', '=', 'spaces.pk')
        .on('participations.user_pk', '=', callerPk)
        .on('participations.left_at', 'is', null),
    )
    .select([
      'spaces.pk',
      'spaces.space_id',
      'spaces.title',
      'spaces.description',
      'spaces.visibility',
      'spaces.posting',
      'spaces.participant_count',
      'spaces.created_at',
      'spaces.invitation_code',
      'users.user_id',
      'users.username',
      'users.avatar',
      'space_tags.position',
      'space_tags.tag_id',
      'space_tags.tag_name',
      'participations.joined_at',
    ])
    .select(participantRole.as('role'))
    .where('spaces.pk', 'in', columnOf(rows, 'spacePk'))
    .where(isLiveSpace('spaces.pk'))
    .where(isVisible(callerPk, sql.ref('spaces.pk')));
});

/** Returns everything that determines the result of `describeSpace`. */
export function stateOf(
  avatars: AvatarUrls,
  space: Omit<FoundSpace, 'pk' | 'creatorPk' | 'visibility' | 'posting' | 'invitationCode'>,
): ResourceState {
  return {
    version: space.version,
    others: [
      space.participantCount,
      space.creatorName,
      avatars.url(space.creatorAvatar),
      space.role,
      space.joinedAt,
    ],
  };
}

/**
 * Returns one space like `describeSpaces`.
 * @throws DomainError `space_not_found`
 */
export async function describeSpace(
  db: Database,
  avatars: AvatarUrls,
  spacePk: number,
  caller: Caller | null,
): Promise<Space> {
  const spaces = await describeSpaces(db, avatars, [spacePk], caller);
  const space = spaces.get(spacePk);
  if (!space) throw spaceNotFound();
  return space;
}
