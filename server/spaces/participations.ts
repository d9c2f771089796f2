import { sql } from 'kysely';
import type {
  Participant,
  Participation,
  ParticipationUpdate,
  UnreadTotals,
} from '../../generated/types.gen.ts';
import { countOperation } from '../accounts/quotas.ts';
import { type Caller, requireSession } from '../auth/sessions.ts';
import type { AvatarUrls } from '../avatars/store.ts';
import type { Database, DatabaseTransaction, Engine } from '../database/engine.ts';
import { isLiveSpace } from '../database/erased-rows.ts';
import { readPage } from '../database/keyset-page.ts';
import type { NewRow } from '../database/schema.ts';
import { NOTHING_SHOWN } from '../database/snapshot.ts';
import { announceAfterCommit, transact } from '../database/transaction.ts';
import { DomainError } from '../errors.ts';
import type { Page, PageRequest } from '../pagination.ts';
import type { AvatarResources, QuotaResources, ResourceState } from '../resources.ts';
import { writerOf } from '../search/writer-of.ts';
import { summarizeUser } from '../users/user-summary.ts';
import { countUnread, listActiveSpaces, readActivity } from './activity.ts';
import { describeSpaces, stateOf } from './describe-spaces.ts';
import { type ListPosition, positionAt } from './list-position.ts';
import {
  isVisibleTo,
  participantRole,
  type Role,
  requireJoinable,
  requireLeavable,
} from './rights.ts';
import { findAnySpace, findSpace, spaceNotFound } from './space-access.ts';
import { assertParticipationQuota } from './space-quotas.ts';
import { listSubject, spaceSubject } from './subjects.ts';

/**
 * Makes the caller a participant of a space. Does nothing if they already are one.
 * @returns the participation, and the state of its space
 * @param invitationCode required for a private space
 * @throws DomainError `space_not_found`, also for a private space and a wrong invitation code; `removed_from_space`,
 *   `quota_exceeded`, `too_many_requests`
 */
export async function joinSpace(
  { engine, avatars, quotas }: AvatarResources & QuotaResources,
  caller: Caller,
  spaceId: string,
  invitationCode: string | undefined,
): Promise<{ state: ResourceState; participation: Participation }> {
  return transact(engine, async (trx) => {
    await requireSession(trx, caller);
    await countOperation(trx, quotas, caller, 'joinSpace');
    // The same error for a wrong code and an unknown space, so that it does not tell whether a private space exists.
    const notFound = invitationCode === undefined ? spaceNotFound : invitationRejected;
    const space = await findAnySpace(trx, caller, spaceId, notFound);
    if (!space.role) {
      const removedAt = await readRemoval(trx, space.pk, caller.userPk);
      requireJoinable(space, removedAt, invitationCode, notFound);
      await assertParticipationQuota(trx, quotas, caller);
      const joined_at = new Date().toISOString();
      const changed_in = await engine.transactionNumber(trx);
      await trx
        .insertInto('participations')
        .values({
          space_pk: space.pk,
          user_pk: caller.userPk,
          joined_at,
          left_at: null,
          removed_at: null,
          removed_by_pk: null,
          read_until: null,
          is_moderator: 0,
          is_muted: 0,
          changed_in,
        } satisfies NewRow<'participations'>)
        .onConflict((conflict) =>
          conflict.columns(['space_pk', 'user_pk']).doUpdateSet({
            ...{ joined_at, left_at: null, left_in: null, read_until: null, is_muted: 0 },
            changed_in,
          }),
        )
        .execute();
      const keys = { spacePk: space.pk, userPk: caller.userPk, changed_in };
      await countParticipant(engine, trx, { ...keys, delta: 1 });
    }
    const joined = await findSpace(trx, caller, spaceId);
    return {
      state: stateOf(avatars, joined),
      participation: await describeParticipation(trx, avatars, caller, space.pk),
    };
  });
}

function invitationRejected(): DomainError {
  return new DomainError(
    'space_not_found',
    'There is no such space, or it is private and has another invitation code.',
    [{ pointer: '/invitation_code', message: 'is not the code of a space with this id' }],
  );
}

/** Returns when a user was removed from a space; null if they have not been. */
async function readRemoval(db: Database, spacePk: number, userPk: number): Promise<string | null> {
  const participation = await db
    .selectFrom('participations')
    .select('removed_at')
    .where('space_pk', '=', spacePk)
    .where('user_pk', '=', userPk)
    .executeTakeFirst();
  return participation?.removed_at ?? null;
}

/**
 * Ends the caller's participation in a space. Keeps its row, with `left_at`. Does nothing if they are not a
 * participant.
 * @throws DomainError `space_not_found`, `creator_cannot_leave`
 */
export async function leaveSpace(engine: Engine, caller: Caller, spaceId: string): Promise<void> {
  await transact(engine, async (trx) => {
    await requireSession(trx, caller);
    const space = await findSpace(trx, caller, spaceId);
    if (!space.role) return;
    requireLeavable(space);
    const changed_in = await engine.transactionNumber(trx);
    await trx
      .updateTable('participations')
      .set({ left_at: new Date().toISOString(), left_in: changed_in, is_moderator: 0 })
      .where('space_pk', '=', space.pk)
      .where('user_pk', '=', caller.userPk)
      .execute();
    const keys = { spacePk: space.pk, userPk: caller.userPk, changed_in };
    await countParticipant(engine, trx, { ...keys, delta: -1 });
  });
}

/**
 * Mutes a space in which the caller participates, or ends that.
 * @throws DomainError `participation_not_found`, `too_many_requests`
 */
export async function updateParticipation(
  { engine, avatars, quotas }: AvatarResources & QuotaResources,
  caller: Caller,
  spaceId: string,
  { muted }: ParticipationUpdate,
): Promise<Participation> {
  return transact(engine, async (trx) => {
    await requireSession(trx, caller);
    await countOperation(trx, quotas, caller, 'updateParticipation');
    const { space_pk, is_muted } = await findParticipation(trx, caller, spaceId);
    if (muted !== (is_muted === 1)) {
      const changed_in = await engine.transactionNumber(trx);
      await trx
        .updateTable('participations')
        .set({ is_muted: muted ? 1 : 0, changed_in })
        .where('space_pk', '=', space_pk)
        .where('user_pk', '=', caller.userPk)
        .execute();
      announceAfterCommit(engine, listSubject(caller.userPk));
    }
    return describeParticipation(trx, avatars, caller, space_pk);
  });
}

/** A user who has become a participant, or no longer is one. */
interface CountedParticipant {
  spacePk: number;
  userPk: number;
  delta: 1 | -1;
  /** See `Engine.transactionNumber`. */
  changed_in: number;
}

/** Changes the participant count of a space, and moves the space in the search order if necessary. */
export async function countParticipant(
  engine: Engine,
  trx: DatabaseTransaction,
  { spacePk, userPk, delta, changed_in }: CountedParticipant,
): Promise<void> {
  const space = await trx
    .updateTable('spaces')
    .set({ participant_count: sql`participant_count + ${delta}`, changed_in })
    .where('pk', '=', spacePk)
    .returning(['pk', 'space_id', 'participant_count', 'visibility'])
    .executeTakeFirstOrThrow();
  if (space.visibility === 'public') await writerOf(engine).moveSpace(trx, space, delta);
  announceAfterCommit(engine, spaceSubject(space.space_id));
  announceAfterCommit(engine, listSubject(userPk));
}

/**
 * Returns the caller's participation in a space.
 * @throws DomainError `participation_not_found`
 */
export async function readParticipation(
  { engine, avatars }: AvatarResources,
  caller: Caller,
  spaceId: string,
): Promise<Participation> {
  const { space_pk } = await findParticipation(engine.db, caller, spaceId);
  return describeParticipation(engine.db, avatars, caller, space_pk);
}

/** @throws DomainError `participation_not_found` */
async function findParticipation(db: Database, { userPk }: Caller, spaceId: string) {
  const row = await db
    .selectFrom('participations')
    .innerJoin('spaces', 'spaces.pk', 'participations.space_pk')
    .select(['space_pk', 'is_muted'])
    .where('spaces.space_id', '=', spaceId)
    .where('user_pk', '=', userPk)
    .where('left_at', 'is', null)
    .executeTakeFirst();
  if (!row) throw participationNotFound();
  return row;
}

/**
 * Returns the caller's participation in a space, by the `pk` of the space.
 * @throws DomainError `participation_not_found`
 */
export async function describeParticipation(
  db: Database,
  avatars: AvatarUrls,
  caller: Caller,
  spacePk: number,
): Promise<Participation> {
  const [found] = await describeParticipations(db, avatars, caller, [spacePk]);
  if (!found) throw participationNotFound();
  return found;
}

/** Omits spaces whose creator is suspended, that were deleted after the rows were read, or that the caller cannot see. */
export async function describeParticipations(
  db: Database,
  avatars: AvatarUrls,
  caller: Caller,
  spacePks: readonly number[],
): Promise<Participation[]> {
  // Read before the spaces, so that none is from a time after the caller has lost access.
  const activities = await readActivity(db, avatars, caller, spacePks);
  const spaces = await describeSpaces(db, avatars, spacePks, caller);
  return spacePks.flatMap((spacePk) => {
    const [space, activity] = [spaces.get(spacePk), activities.get(spacePk)];
    if (!space?.participation || !activity) return [];
    return [{ space, ...space.participation, ...activity }];
  });
}

function participationNotFound(): DomainError {
  return new DomainError(
    'participation_not_found',
    'You do not participate in this space, or there is no such space.',
  );
}

/**
 * Returns a page of the caller's participations. The first one has the number of unread messages in all of them.
 * @returns the page, and in `newer` where `readListChanges` continues
 * @param order `joined`: the most recently joined first; `recent`: those with the latest message first
 */
export async function listParticipations(
  { engine, avatars }: AvatarResources,
  caller: Caller,
  order: 'joined' | 'recent',
  request: PageRequest,
): Promise<Page<Participation> & { newer: ListPosition; unread: UnreadTotals | null }> {
  // Before the list, so that it contains all changes that the position does.
  const newer = await readPosition(engine);
  const page = await (order === 'recent' ? listActiveSpaces : listJoinedSpaces)(
    engine.db,
    caller,
    request,
  );
  const spacePks = page.items.map(({ space_pk }) => space_pk);
  const items = await describeParticipations(engine.db, avatars, caller, spacePks);
  const unread = request.position === undefined ? await countUnread(engine.db, caller) : null;
  return { items, next: page.next, newer, unread };
}

/** Returns the position of a reader who reads the list now. On a standby, one from which nothing is known. */
async function readPosition(engine: Engine): Promise<ListPosition> {
  try {
    return positionAt(await engine.readCommits());
  } catch (error) {
    // In other cases, the list cannot be read either.
    if (!engine.isUnavailable(error)) throw error;
    return positionAt({ snapshot: NOTHING_SHOWN, epoch: '' });
  }
}

function listJoinedSpaces(
  db: Database,
  caller: Caller,
  request: PageRequest,
): Promise<Page<{ space_pk: number }>> {
  const query = db
    .selectFrom('participations')
    .select(['space_pk', 'joined_at'])
    .where('user_pk', '=', caller.userPk)
    .where('left_at', 'is', null)
    .where(isLiveSpace('space_pk'));
  return readPage(query, ['joined_at', 'space_pk'], 'desc', request);
}

/**
 * Returns a page of the current participants in a space that the caller may see, the most recently joined first.
 * @throws DomainError `space_not_found`
 */
export async function listParticipants(
  { engine, avatars }: AvatarResources,
  caller: Caller,
  spaceId: string,
  request: PageRequest,
): Promise<Page<Participant>> {
  const space = await findSpace(engine.db, caller, spaceId);
  const query = engine.db
    .selectFrom('participations')
    .innerJoin('spaces', 'spaces.pk', 'participations.space_pk')
    .innerJoin('users', 'users.pk', 'participations.user_pk')
    .select(['user_pk', 'joined_at', 'user_id', 'username', 'avatar'])
    .select(participantRole.as('role'))
    .where('space_pk', '=', space.pk)
    .where('left_at', 'is', null)
    .where(isVisibleTo(caller, space.pk))
    .$narrowType<{ role: Role }>();
  const page = await readPage(query, ['joined_at', 'user_pk'], 'desc', request);
  return { items: page.items.map((row) => describeParticipant(avatars, row)), next: page.next };
}

export function describeParticipant(
  avatars: AvatarUrls,
  row: Parameters<typeof summarizeUser>[1] & Pick<Participant, 'joined_at' | 'role'>,
): Participant {
  return { user: summarizeUser(avatars, row), joined_at: row.joined_at, role: row.role };
}
