import { type RawBuilder, sql } from 'kysely';
import type { Visibility } from '../../generated/types.gen.ts';
import type { Caller } from '../auth/sessions.ts';
import type { Database, Engine } from '../database/engine.ts';
import { lastEventTime } from '../database/last-event.ts';
import { columnOf, prepareForSet } from '../database/prepared.ts';
import { DomainError } from '../errors.ts';

/** The properties of a space that decide who can access it, and those that `stateOf` needs. */
export interface FoundSpace {
  pk: number;
  creatorPk: number;
  visibility: Visibility;
  invitationCode: string | null;
  /** Whether the caller is a participant now. */
  isParticipant: boolean;
  joinedAt: string | null;
  version: number;
  participantCount: number;
  creatorName: string;
  creatorAvatar: string | null;
}

/**
 * Finds a space that the caller may see: a public space, or a private one in which they participate. The spaces of
 * suspended creators are hidden from everyone. `isVisibleTo` is the same rule in SQL.
 * @throws DomainError `space_not_found`
 */
export async function findSpace(
  db: Database,
  caller: Caller | null,
  spaceId: string,
): Promise<FoundSpace> {
  const space = await findAnySpace(db, caller, spaceId);
  if (space.visibility === 'private' && !space.isParticipant) throw spaceNotFound();
  return space;
}

/**
 * SQL condition: the caller may see the space with this key. The same rule as that of `findSpace`.
 *
 * Queries of a space's content outside of transactions need this condition in addition to `findSpace`. In between,
 * the space can become private, or its creator can remove the caller or be suspended. Later content must not be
 * returned.
 */
export function isVisibleTo(
  caller: Caller | null,
  spacePk: RawBuilder<number> | number,
): RawBuilder<boolean> {
  return sql<boolean>`EXISTS (
    SELECT 1 FROM spaces AS visible JOIN users AS creators ON creators.pk = visible.creator_pk
    WHERE visible.pk = ${spacePk} AND creators.suspended_at IS NULL AND (visible.visibility = 'public' OR EXISTS (
      SELECT 1 FROM participations
      WHERE participations.space_pk = ${spacePk} AND participations.user_pk = ${callerPk(caller)}
        AND participations.left_at IS NULL
    ))
  )`;
}

/** A space that is not hidden, and the time of the last event in it. See `messages/message-order.ts`. */
export interface VisibleSpace {
  spaceId: string;
  pk: number;
  visibility: Visibility;
  lastEventTime: string | null;
}

/** Finds spaces, except those that are deleted or whose creators are suspended. */
export const findVisibleSpaces = prepareForSet({ space_id: 'text' }, (db, rows) =>
  db
    .selectFrom('spaces')
    .innerJoin('users', 'users.pk', 'spaces.creator_pk')
    .select(['spaces.space_id as spaceId', 'spaces.pk', 'spaces.visibility'])
    .select(lastEventTime(sql.ref('spaces.pk')).as('lastEventTime'))
    .where('spaces.space_id', 'in', columnOf(rows, 'space_id'))
    .where('users.suspended_at', 'is', null)
    .$castTo<VisibleSpace>(),
);

/** Returns which of these users participate in these spaces now. */
export const findParticipants = prepareForSet(
  { space_pk: 'bigint', user_pk: 'bigint' },
  (db, rows) =>
    db
      .selectFrom('participations')
      .select(['space_pk', 'user_pk'])
      .where(
        sql<boolean>`(space_pk, user_pk) IN (VALUES ${sql.join(rows.map(({ space_pk, user_pk }) => sql`(${space_pk}, ${user_pk})`))})`,
      )
      .where('left_at', 'is', null),
);

/** Returns the `pk` of the caller; 0 without a caller, because no user has it. */
export function callerPk(caller: Caller | null): number {
  return caller?.userPk ?? 0;
}

/** Returns whether a space is public and visible. False for an unknown space. */
export async function isPublicSpace({ db }: Engine, spaceId: string): Promise<boolean> {
  const space = await db
    .selectFrom('spaces')
    .innerJoin('users', 'users.pk', 'spaces.creator_pk')
    .select('spaces.visibility')
    .where('space_id', '=', spaceId)
    .where('users.suspended_at', 'is', null)
    .executeTakeFirst();
  return space?.visibility === 'public';
}

/**
 * Finds a space even if it is private and the caller does not participate. The spaces of suspended creators are hidden.
 * @param notFound returns the error to throw
 * @throws DomainError `space_not_found`
 */
export async function findAnySpace(
  db: Database,
  caller: Caller | null,
  spaceId: string,
  notFound = spaceNotFound,
): Promise<FoundSpace> {
  const row = await db
    .selectFrom('spaces')
    .innerJoin('users', 'users.pk', 'spaces.creator_pk')
    .leftJoin('participations', (join) =>
      join
        .onRef('participations.space_pk', '=', 'spaces.pk')
        .on('participations.user_pk', '=', callerPk(caller))
        .on('participations.left_at', 'is', null),
    )
    .select([
      'spaces.pk',
      'spaces.creator_pk as creatorPk',
      'spaces.visibility',
      'spaces.invitation_code as invitationCode',
      'spaces.version',
      'spaces.participant_count as participantCount',
      'users.username as creatorName',
      'users.avatar as creatorAvatar',
      'participations.joined_at as joinedAt',
    ])
    .where('spaces.space_id', '=', spaceId)
    .where('users.suspended_at', 'is', null)
    .executeTakeFirst();
  if (!row) throw notFound();
  return { ...row, isParticipant: row.joinedAt !== null };
}

/**
 * Finds a space that the caller created.
 * @throws DomainError `space_not_found`, `not_space_creator`
 */
export async function findOwnSpace(
  db: Database,
  caller: Caller,
  spaceId: string,
): Promise<FoundSpace> {
  const space = await findSpace(db, caller, spaceId);
  if (space.creatorPk !== caller.userPk) {
    throw new DomainError('not_space_creator', 'Only the creator of the space can do this.');
  }
  return space;
}

export function spaceNotFound(): DomainError {
  return new DomainError('space_not_found', 'There is no such space, or it is private.');
}
