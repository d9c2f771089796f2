import { type RawBuilder, sql } from 'kysely';
import type { Posting, Visibility } from '../../generated/types.gen.ts';
import type { Caller } from '../auth/sessions.ts';
import type { Database, Engine } from '../database/engine.ts';
import { prepare } from '../database/prepared.ts';
import { DomainError } from '../errors.ts';
import {
  callerPk,
  isVisible,
  participantRole,
  type Right,
  type Role,
  requireRight,
} from './rights.ts';

/** The properties of a space that decide who can access it, and those that `stateOf` needs. */
export interface FoundSpace {
  pk: number;
  creatorPk: number;
  visibility: Visibility;
  posting: Posting;
  invitationCode: string | null;
  /** Of the caller. Null if the caller does not participate now. */
  role: Role | null;
  joinedAt: string | null;
  version: number;
  participantCount: number;
  creatorName: string;
  creatorAvatar: string | null;
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
  return row;
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
  return row;
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
      'spaces.posting',
      'spaces.invitation_code as invitationCode',
      'spaces.version',
      'spaces.participant_count as participantCount',
      'users.username as creatorName',
      'users.avatar as creatorAvatar',
      'participations.joined_at as joinedAt',
    ])
    .select(participantRole.as('role'))
    .where('spaces.space_id', '=', spaceId);
}

/**
 * Finds a space in which the caller has a right.
 * @throws DomainError `space_not_found`, and those of `requireRight`
 */
export async function findSpaceFor(
  db: Database,
  caller: Caller,
  spaceId: string,
  right: Right,
): Promise<FoundSpace> {
  const space = await findSpace(db, caller, spaceId);
  requireRight(space, right);
  return space;
}

export function spaceNotFound(): DomainError {
  return new DomainError('space_not_found', 'There is no such space, or it is private.');
}
