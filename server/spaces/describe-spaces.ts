import type { Space } from '../../generated/types.gen.ts';
import type { Caller } from '../auth/sessions.ts';
import type { AvatarUrls } from '../avatars/store.ts';
import type { Database } from '../database/engine.ts';
import { isLiveSpace } from '../database/erased-rows.ts';
import { summarizeUser } from '../users/user-summary.ts';
import { spaceNotFound } from './space-access.ts';
import { readTags } from './tags.ts';

/**
 * Returns spaces as the caller sees them, by `pk`: only the creator sees the invitation code. Does not check access.
 * Missing spaces and those of suspended creators are omitted.
 */
export async function describeSpaces(
  db: Database,
  avatars: AvatarUrls,
  spacePks: readonly number[],
  caller: Caller | null,
): Promise<Map<number, Space>> {
  if (spacePks.length === 0) return new Map();
  const rows = await db
    .selectFrom('spaces')
    .innerJoin('users', 'users.pk', 'spaces.creator_pk')
    .select([
      'spaces.pk',
      'spaces.creator_pk',
      'spaces.space_id',
      'spaces.title',
      'spaces.description',
      'spaces.visibility',
      'spaces.participant_count',
      'spaces.created_at',
      'spaces.invitation_code',
      'users.user_id',
      'users.username',
      'users.avatar',
    ])
    .where('spaces.pk', 'in', spacePks)
    .where('users.suspended_at', 'is', null)
    .where(isLiveSpace('spaces.pk'))
    .execute();
  const tags = await readTags(db, spacePks);
  return new Map(
    rows.map((row) => [
      row.pk,
      {
        space_id: row.space_id,
        title: row.title,
        description: row.description,
        visibility: row.visibility,
        creator: summarizeUser(avatars, row),
        participant_count: row.participant_count,
        tags: tags.get(row.pk) ?? [],
        created_at: row.created_at,
        invitation_code: row.creator_pk === caller?.userPk ? row.invitation_code : null,
      },
    ]),
  );
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
