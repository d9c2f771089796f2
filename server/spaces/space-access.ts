import { type RawBuilder, sql } from 'kysely';
import type { Visibility } from '../../generated/types.gen.ts';
import type { Caller } from '../auth/sessions.ts';
import type { Database, Engine } from '../database/engine.ts';
import { prepare } from '../database/prepared.ts';
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
 * SQL condition: a user may see the space with this key. Everyone may see a public space, and its participants a private
 * one. The spaces of suspended creators are hidden from everyone.
 *
 * Queries of a space's content outside of transactions need this condition in addition to `findSpace`. In between,
 * the space can become private, or its creator can remove the caller or be suspended. Later content must not be
 * returned.
 * @param userPk see `callerPk`
 */
export function isVisible(
  userPk: RawBuilder<number> | number,
  spacePk: RawBuilder<number> | number,
): RawBuilder<boolean> {
  return sql<boolean>`EXISTS (
    SELECT 1 FROM spaces AS visible JOIN users AS creators ON creators.pk = visible.creator_pk
    WHERE visible.pk = ${spacePk} AND creators.suspended_at IS NULL AND (visible.visibility = 'public' OR EXISTS (
      SELECT 1 FROM participations
      WHERE participations.space_pk = ${spacePk} AND participations.user_pk = ${userPk}
        AND participations.left_at IS NULL
    ))
  )`;
}

/** Like `isVisible`, for a caller. */
export function isVisibleTo(
  caller: Caller | null,
  spacePk: RawBuilder<number> | number,
): RawBuilder<boolean> {
  return isVisible(callerPk(caller), spacePk);
}

/** Returns the `pk` of the caller; 0 without a caller, because no user has it. */
export function callerPk(caller: Caller | null): number {
  return caller?.userPk ?? 0;
}

/** Returns whether everyone may see a space. False for an unknown space. */
export async function isPublicSpace({ db }: Engine, spaceId: string): Promise<boolean> {
  const [space] = await selectVisibleSpace(db, { callerPk: callerPk(null), spaceId });
  return space !== undefined;
}

/**
 * Finds a space that the caller may see.
 * @throws DomainError `space_not_found`
 */
export async function findSpace(
  db: Database,
  caller: Caller | null,
  spaceId: string,
): Promise<FoundSpace> {
  const [row] = await selectVisibleSpace(db, { callerPk: callerPk(caller), spaceId });
  if (!row) throw spaceNotFound();
  return { ...row, isParticipant: row.joinedAt !== null };
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
  const [row] = await selectAnySpace(db, { callerPk: callerPk(caller), spaceId });
  if (!row) throw notFound();
  return { ...row, isParticipant: row.joinedAt !== null };
}

const PARAMETERS = { callerPk: 'bigint', spaceId: 'text' } as const;

const selectVisibleSpace = prepare(PARAMETERS, (db, { callerPk, spaceId }) =>
  selectSpace(db, callerPk, spaceId).where(isVisible(callerPk, sql.ref('spaces.pk'))),
);

const selectAnySpace = prepare(PARAMETERS, (db, { callerPk, spaceId }) =>
  selectSpace(db, callerPk, spaceId).where('users.suspended_at', 'is', null),
);

function selectSpace(db: Database, callerPk: RawBuilder<number>, spaceId: RawBuilder<string>) {
  return db
    .selectFrom('spaces')
    .innerJoin('users', 'users.pk', 'spaces.creator_pk')
    .leftJoin('participations', (join) =>
      join
        .onRef('participations.space_pk', '=', 'spaces.pk')
        .on('participations.user_pk', '=', callerPk)
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
    .where('spaces.space_id', '=', spaceId);
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
